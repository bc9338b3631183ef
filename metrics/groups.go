package metrics

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// groupFlows computes the statistics of all flows and of their subsets. Flow numbers are
// sorted by workload, class and size bucket, so every subset is a few ranges of one array.
// Memory stays at about 20 bytes per flow however many subsets there are.
func (o *Outcome) groupFlows(s *Summary) {
	c := o.newCells()
	for i := range o.Flows.Flow {
		if !o.Flows.Offered(i) {
			continue
		}
		s.Flows.Offered++
		if o.Flows.Done(i) {
			s.Flows.Completed++
		}
	}
	all := c.part("", every, every, every)
	s.Flows.Measured, s.Flows.Finished, s.Flows.Unfinished = all.Measured, all.Finished, all.Unfinished
	s.FCT, s.Slowdown, s.Throughput = all.FCT, all.Slowdown, all.Throughput
	s.GroupBy, s.Workloads, s.Sizes = o.Grouping.By, []Part{}, []Part{}
	buckets := sizeNames(o.Grouping.Sizes)
	for w, name := range o.Workloads {
		p := c.part(name, w, every, every)
		p.Operations = o.operationsOf(w)
		if o.Grouping.By == "workload" {
			p.Sizes = c.sizes(buckets, w, every)
		}
		s.Workloads = append(s.Workloads, p)
	}
	if o.Grouping.By == "class" {
		for class := range mmu.Classes {
			if p := c.part(ClassName(class), every, class, every); p.Measured > 0 {
				p.Sizes = c.sizes(buckets, every, class)
				s.Classes = append(s.Classes, p)
			}
		}
	}
	s.Sizes = c.sizes(buckets, every, every)
}

// ClassName returns the name of the part of a class.
func ClassName(class int) string { return fmt.Sprintf("class %d", class) }

// every stands for all workloads, classes or size buckets.
const every = -1

// cells has the measured flows ordered by cell: workload, class, size.
type cells struct {
	o       *Outcome
	buckets int
	flows   []int32
	begin   []int32 // by cell: index of its first flow; one more at the end
	fcts    []units.Time
	ratios  []float64     // slowdowns, then rates
	ranges  []span        // of the current part
	known   map[span]Part // parts of one range: often all flows are of one workload or size
}

// span is a range of cells.flows.
type span struct{ from, to int32 }

func (o *Outcome) newCells() *cells {
	c := &cells{o: o, buckets: len(o.Grouping.Sizes) + 1, known: make(map[span]Part)}
	c.begin = make([]int32, len(o.Workloads)*mmu.Classes*c.buckets+1)
	n := 0
	for i := range o.Flows.Flow {
		if o.measured(i) {
			n++
			c.begin[c.cellOf(i)]++
		}
	}
	// Counts become ends; ends become beginnings as flows are filled in from the back.
	sum := int32(0)
	for i := range c.begin {
		sum += c.begin[i]
		c.begin[i] = sum
	}
	c.flows = make([]int32, n)
	for i := len(o.Flows.Flow) - 1; i >= 0; i-- {
		if o.measured(i) {
			at := &c.begin[c.cellOf(i)]
			*at--
			c.flows[*at] = int32(i)
		}
	}
	c.fcts, c.ratios = make([]units.Time, 0, n), make([]float64, 0, n)
	return c
}

func (c *cells) cellOf(i int) int {
	f := &c.o.Flows.Flow[i]
	return c.index(int(c.o.Origin[i]), int(f.Class), bucketOf(f.Size, c.o.Grouping.Sizes))
}

func (c *cells) index(workload, class, bucket int) int {
	return (workload*mmu.Classes+class)*c.buckets + bucket
}

// sizes returns the parts of a subset by size bucket.
func (c *cells) sizes(names []string, workload, class int) []Part {
	parts := []Part{}
	for b, name := range names {
		parts = append(parts, c.part(name, workload, class, b))
	}
	return parts
}

// part computes the statistics of a subset.
func (c *cells) part(name string, workload, class, bucket int) Part {
	c.find(workload, class, bucket)
	single := len(c.ranges) == 1
	if single {
		if p, ok := c.known[c.ranges[0]]; ok {
			p.Name = name
			return p
		}
	}
	p := Part{Name: name}
	c.fcts, c.ratios = c.fcts[:0], c.ratios[:0]
	for i := range c.each {
		p.Measured++
		if fct, done := c.o.fct(i); done {
			c.fcts = append(c.fcts, fct)
			c.ratios = append(c.ratios, c.o.slowdown(i, fct))
		}
	}
	p.Finished = len(c.fcts)
	p.Unfinished = p.Measured - p.Finished
	p.FCT, p.Slowdown = timesOf(c.fcts), ratiosOf(c.ratios)
	v := volume{first: units.Never, rates: c.ratios[:0]}
	for i := range c.each {
		v.add(c.o, i)
	}
	p.Throughput = v.sum()
	if single {
		c.known[c.ranges[0]] = p
	}
	return p
}

// each visits the flows of the ranges.
func (c *cells) each(yield func(i int) bool) {
	for _, r := range c.ranges {
		for _, i := range c.flows[r.from:r.to] {
			if !yield(int(i)) {
				return
			}
		}
	}
}

// find lists the ranges of the flows of a subset.
func (c *cells) find(workload, class, bucket int) {
	bounds := func(chosen, n int) (from, to int) {
		if chosen == every {
			return 0, n
		}
		return chosen, chosen + 1
	}
	w0, w1 := bounds(workload, len(c.o.Workloads))
	k0, k1 := bounds(class, mmu.Classes)
	b0, b1 := bounds(bucket, c.buckets)
	c.ranges = c.ranges[:0]
	for w := w0; w < w1; w++ {
		for k := k0; k < k1; k++ {
			// Buckets are adjacent.
			r := span{c.begin[c.index(w, k, b0)], c.begin[c.index(w, k, b1-1)+1]}
			switch n := len(c.ranges); {
			case r.from == r.to:
			case n > 0 && c.ranges[n-1].to == r.from:
				c.ranges[n-1].to = r.to
			default:
				c.ranges = append(c.ranges, r)
			}
		}
	}
}

func bucketOf(size units.Bytes, limits []units.Bytes) int {
	for i, limit := range limits {
		if size <= limit {
			return i
		}
	}
	return len(limits)
}

func sizeNames(limits []units.Bytes) []string {
	if len(limits) == 0 {
		return []string{"all"}
	}
	var names []string
	for _, limit := range limits {
		names = append(names, fmt.Sprintf("up to %s", limit))
	}
	return append(names, fmt.Sprintf("over %s", limits[len(limits)-1]))
}
