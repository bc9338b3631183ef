package table

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Writer writes a table, one row group after the other.
type Writer struct {
	// Columns are the columns of the table. Texts may be appended until their words are written.
	Columns []Column

	w       io.Writer
	at      int64 // bytes written
	meta    format.FileMetaData
	present []int64 // scratch: words that are not Null
	levels  []byte  // scratch: 1 for each of them, 0 for Null
	index   []int32 // scratch
	entry   []int32 // scratch: by text, its index in the dictionary and 1, or 0
}

// NewWriter begins a table. The name of its writer is written to the file.
func NewWriter(w io.Writer, writer string, columns []Column) *Writer {
	t := &Writer{Columns: columns, w: w}
	t.meta = format.FileMetaData{Version: 1, CreatedBy: writer, Schema: []format.SchemaElement{
		{Name: "table", NumChildren: thrift.New(int32(len(columns)))},
	}}
	for _, c := range columns {
		t.meta.Schema = append(t.meta.Schema, c.element())
	}
	return t
}

// element describes a column for other programs.
func (c *Column) element() format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, RepetitionType: thrift.New(format.Required), Type: thrift.New(c.stored())}
	if c.Nullable {
		e.RepetitionType = thrift.New(format.Optional)
	}
	switch {
	case c.Type == Text:
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType.Value = &format.StringType{}
	case c.Unsigned:
		e.ConvertedType = thrift.New(deprecated.Uint64)
	}
	return e
}

// stored returns the type of values in the file.
func (c *Column) stored() format.Type {
	return [...]format.Type{Int: format.Int64, Float: format.Double, Bool: format.Boolean, Text: format.ByteArray}[c.Type]
}

func (t *Writer) write(b []byte) error {
	if t.at == 0 {
		t.at = int64(len(magic))
		if _, err := io.WriteString(t.w, magic); err != nil {
			return err
		}
	}
	n, err := t.w.Write(b)
	t.at += int64(n)
	return err
}

// Group writes a row group: the words of each column, of the same number of rows.
func (t *Writer) Group(words [][]int64) error {
	group := format.RowGroup{NumRows: int64(len(words[0])), Ordinal: int16(len(t.meta.RowGroups))}
	if err := t.write(nil); err != nil {
		return err
	}
	group.FileOffset = t.at
	for i := range t.Columns {
		if len(words[i]) != len(words[0]) {
			panic(fmt.Sprintf("table: %d rows of column %s, %d of the first column", len(words[i]), t.Columns[i].Name, len(words[0])))
		}
		chunk, err := t.chunk(&t.Columns[i], words[i])
		if err != nil {
			return err
		}
		group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		group.Columns = append(group.Columns, chunk)
	}
	group.TotalCompressedSize = group.TotalByteSize
	t.meta.NumRows += group.NumRows
	t.meta.RowGroups = append(t.meta.RowGroups, group)
	return nil
}

// chunk writes the pages of a column in a row group.
func (t *Writer) chunk(c *Column, words []int64) (format.ColumnChunk, error) {
	begin := t.at
	m := format.ColumnMetaData{Type: c.stored(), PathInSchema: []string{c.Name}, Codec: format.Uncompressed, NumValues: int64(len(words))}
	t.present, t.levels = words, t.levels[:0]
	if c.Nullable {
		t.split(words)
	}
	var page []byte
	var err error
	if c.Nullable {
		levels, err := (&rle.Encoding{BitWidth: 1}).EncodeLevels(nil, t.levels)
		if err != nil {
			return format.ColumnChunk{}, err
		}
		page = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	}
	encoding := format.Plain
	var values []byte
	switch c.Type {
	case Int:
		encoding = format.DeltaBinaryPacked
		values, err = (&delta.BinaryPackedEncoding{}).EncodeInt64(nil, t.present)
	case Float:
		for _, w := range t.present {
			values = binary.LittleEndian.AppendUint64(values, uint64(w))
		}
	case Bool:
		values = make([]byte, (len(t.present)+7)/8)
		for i, w := range t.present {
			values[i/8] |= byte(w&1) << (i % 8)
		}
	case Text:
		encoding = format.RLEDictionary
		m.DictionaryPageOffset = t.at
		m.Encoding = append(m.Encoding, format.Plain)
		values, err = t.texts(c)
	}
	if err != nil {
		return format.ColumnChunk{}, err
	}
	page = append(page, values...)
	m.Encoding = append(m.Encoding, encoding, format.RLE)
	m.DataPageOffset = t.at
	err = t.page(format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(len(words)), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})}, page)
	m.TotalUncompressedSize = t.at - begin
	m.TotalCompressedSize = m.TotalUncompressedSize
	return format.ColumnChunk{FileOffset: begin, MetaData: m}, err
}

// split sets present and levels.
func (t *Writer) split(words []int64) {
	t.present = make([]int64, 0, len(words))
	for _, w := range words {
		level := byte(0)
		if w != Null {
			level = 1
			t.present = append(t.present, w)
		}
		t.levels = append(t.levels, level)
	}
}

// texts writes a page with the texts of the present words, in the order of their first use, and
// returns their indices in it.
func (t *Writer) texts(c *Column) ([]byte, error) {
	t.entry = append(t.entry[:0], make([]int32, len(c.Texts))...)
	t.index = t.index[:0]
	var page []byte
	n := int32(0)
	for _, w := range t.present {
		if t.entry[w] == 0 {
			n++
			t.entry[w] = n
			page = binary.LittleEndian.AppendUint32(page, uint32(len(c.Texts[w])))
			page = append(page, c.Texts[w]...)
		}
		t.index = append(t.index, t.entry[w]-1)
	}
	err := t.page(format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: n, Encoding: format.Plain})}, page)
	if err != nil {
		return nil, err
	}
	width := max(1, bits.Len32(uint32(max(0, n-1))))
	index, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, t.index)
	return append([]byte{byte(width)}, index...), err
}

func (t *Writer) page(h format.PageHeader, data []byte) error {
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(data)), int32(len(data))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err == nil {
		err = t.write(head)
	}
	if err == nil {
		err = t.write(data)
	}
	return err
}

// Close writes the description of the table. It does not close the underlying writer.
func (t *Writer) Close() error {
	foot, err := thrift.Marshal(new(thrift.CompactProtocol), &t.meta)
	if err != nil {
		return err
	}
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	return t.write(append(foot, magic...))
}
