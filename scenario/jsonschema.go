package scenario

import (
	"bytes"
	"encoding/json"
	"slices"
)

// JSONSchema is a JSON schema (draft 2020-12) with the keywords that scenarios need. Encode it
// with encoding/json.
type JSONSchema struct {
	Version              string        `json:"$schema,omitempty"`
	AnyOf                []*JSONSchema `json:"anyOf,omitempty"`
	Items                *JSONSchema   `json:"items,omitempty"`
	Properties           properties    `json:"properties,omitzero"`
	AdditionalProperties any           `json:"additionalProperties,omitempty"` // a *JSONSchema or false
	PropertyNames        *JSONSchema   `json:"propertyNames,omitempty"`
	Type                 string        `json:"type,omitempty"`
	Enum                 []string      `json:"enum,omitempty"`
	Const                any           `json:"const,omitempty"`
	Minimum              json.Number   `json:"minimum,omitempty"`
	Pattern              string        `json:"pattern,omitempty"`
	Required             []string      `json:"required,omitempty"`
	Title                string        `json:"title,omitempty"`
	Description          string        `json:"description,omitempty"`
	Default              any           `json:"default,omitempty"`
}

// property is a key with its schema.
type property struct {
	key    string
	schema *JSONSchema
}

// properties is an ordered list of keys with their schemas.
type properties []property

// index returns the position of a key, or -1.
func (p properties) index(key string) int {
	return slices.IndexFunc(p, func(q property) bool { return q.key == key })
}

// set appends a property, or replaces the one with the same key.
func (p properties) set(q property) properties {
	if i := p.index(q.key); i >= 0 {
		p[i] = q
		return p
	}
	return append(p, q)
}

// MarshalJSON writes an object with the keys in order.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, q := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(q.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(q.schema)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
