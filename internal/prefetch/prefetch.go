// Package prefetch asks the processor to load memory that will be needed soon,
// without waiting for it. It is a hint: no result depends on it, any address
// will do, and where there is no such instruction it does nothing.
//
// A call costs a few nanoseconds, a line from outside the inner caches tens of
// them. So it pays where the next use is known well before and lies far apart in
// memory: the next packet of a queue, the state of the next node.
package prefetch
