package packet

import (
	"iter"
	"math/bits"
)

// ClassMask is a set of traffic classes: bit c stands for class c, 0..7.
type ClassMask uint8

// AllClasses has every class.
const AllClasses ClassMask = 1<<8 - 1

// MaskOf returns the set of one class.
func MaskOf(class uint8) ClassMask { return 1 << (class & 7) }

// Has reports whether class is in the set.
func (m ClassMask) Has(class uint8) bool { return m&MaskOf(class) != 0 }

// With returns the set with class added.
func (m ClassMask) With(class uint8) ClassMask { return m | MaskOf(class) }

// Without returns the set with class removed.
func (m ClassMask) Without(class uint8) ClassMask { return m &^ MaskOf(class) }

// Count returns the number of classes.
func (m ClassMask) Count() int { return bits.OnesCount8(uint8(m)) }

// Lowest returns the lowest class, 8 if the set is empty.
func (m ClassMask) Lowest() uint8 { return uint8(bits.TrailingZeros8(uint8(m))) }

// All iterates over the classes in ascending order.
func (m ClassMask) All() iter.Seq[uint8] {
	return func(yield func(uint8) bool) {
		for rest := m; rest != 0; rest &= rest - 1 {
			if !yield(rest.Lowest()) {
				return
			}
		}
	}
}
