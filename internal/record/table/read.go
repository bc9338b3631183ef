package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// File is an open table.
type File struct {
	// Columns are the columns of the table. Texts grow while their column is read.
	Columns []Column
	Rows    int64

	r     io.ReaderAt
	size  int64
	close func() error
	meta  format.FileMetaData
}

var errDamaged = errors.New("damaged Parquet file")

// Open opens the file of a table. It reads what this package and earlier versions of xoff wrote;
// other files may use encodings that it does not know. The caller closes the table.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		t := &File{r: f, size: info.Size(), close: f.Close}
		if err = t.describe(); err == nil {
			return t, nil
		}
	}
	_ = f.Close()
	return nil, fmt.Errorf("%s: %w", path, err)
}

// Close closes the file.
func (t *File) Close() error { return t.close() }

// describe reads the description of the table at the end of the file.
func (t *File) describe() (err error) {
	defer recovered(&err)
	const tail = 8 // length of the description, magic
	if t.size < int64(len(magic))+tail {
		return errors.New("not a Parquet file")
	}
	end, err := t.part(t.size-tail, tail)
	if err != nil {
		return err
	}
	if string(end[4:]) != magic {
		return errors.New("not a Parquet file")
	}
	length := int64(binary.LittleEndian.Uint32(end))
	foot, err := t.part(t.size-tail-length, length)
	if err != nil {
		return err
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), foot, &t.meta); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	t.Rows = t.meta.NumRows
	for _, e := range t.meta.Schema[1:] {
		c, err := column(e)
		if err != nil {
			return err
		}
		t.Columns = append(t.Columns, c)
	}
	return nil
}

// recovered turns a panic into an error: decoders panic on some damaged files.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, r)
	}
}

func column(e format.SchemaElement) (Column, error) {
	c := Column{Name: e.Name, Nullable: e.RepetitionType.V == format.Optional, Unsigned: e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Uint64}
	switch {
	case e.RepetitionType.V == format.Repeated || e.NumChildren.V > 0:
		return c, fmt.Errorf("column %s has several values per row", e.Name)
	case e.Type.V == format.Int64:
	case e.Type.V == format.Double:
		c.Type = Float
	case e.Type.V == format.Boolean:
		c.Type = Bool
	case e.Type.V == format.ByteArray:
		c.Type = Text
	default:
		return c, fmt.Errorf("column %s has type %v (expected INT64, DOUBLE, BOOLEAN or BYTE_ARRAY)", e.Name, e.Type.V)
	}
	return c, nil
}

// part reads a part of the file.
func (t *File) part(at, length int64) ([]byte, error) {
	if at < 0 || length < 0 || length > t.size-at {
		return nil, errDamaged
	}
	b := make([]byte, length)
	_, err := t.r.ReadAt(b, at)
	return b, err
}

// Find returns the index of a column, or -1.
func (t *File) Find(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Names returns the names of the columns, for messages.
func (t *File) Names() string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// Each calls use with the words of a column, page by page. The slice is valid during the call.
func (t *File) Each(column int, use func(words []int64)) (err error) {
	defer recovered(&err)
	r := reader{column: &t.Columns[column], words: make(map[string]int64)}
	for i, text := range r.column.Texts {
		r.words[text] = int64(i)
	}
	for i := range t.meta.RowGroups {
		chunk := t.meta.RowGroups[i].Columns[column].MetaData
		if chunk.Codec != format.Uncompressed {
			return fmt.Errorf("column %s is compressed (expected %s)", r.column.Name, format.Uncompressed)
		}
		from := chunk.DataPageOffset
		if d := chunk.DictionaryPageOffset; d > 0 {
			from = min(from, d)
		}
		data, err := t.part(from, chunk.TotalCompressedSize)
		if err != nil {
			return err
		}
		for rows := t.meta.RowGroups[i].NumRows; rows > 0; {
			words, rest, err := r.page(data)
			if err != nil {
				return fmt.Errorf("column %s: %w", r.column.Name, err)
			}
			data = rest
			rows -= int64(len(words))
			use(words)
		}
	}
	return nil
}

// reader decodes the pages of a column.
type reader struct {
	column *Column
	words  map[string]int64 // words by text
	dict   []int64          // words of the row group's dictionary
	out    []int64
}

// page decodes the first page of data and returns the rest. A dictionary has no words.
func (r *reader) page(data []byte) (words []int64, rest []byte, err error) {
	var h format.PageHeader
	in := new(thrift.CompactProtocol).NewReaderFromBytes(data)
	if err := thrift.NewDecoder(in).Decode(&h); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	data = data[in.BytesRead():]
	page, rest := data[:h.CompressedPageSize], data[h.CompressedPageSize:]
	switch {
	case h.DictionaryPageHeader.Valid:
		r.dict, err = r.texts(page, int(h.DictionaryPageHeader.V.NumValues))
		return nil, rest, err
	case h.DataPageHeader.Valid:
		d := &h.DataPageHeader.V
		var levels []byte
		if r.column.Nullable {
			n := binary.LittleEndian.Uint32(page)
			levels, page = page[4:4+n], page[4+n:]
		}
		words, err = r.values(int(d.NumValues), levels, page, d.Encoding)
		return words, rest, err
	case h.DataPageHeaderV2.Valid:
		d := &h.DataPageHeaderV2.V
		n := d.DefinitionLevelsByteLength
		words, err = r.values(int(d.NumValues), page[:n], page[n:], d.Encoding)
		return words, rest, err
	}
	return nil, nil, fmt.Errorf("%w: page of type %v", errDamaged, h.Type)
}

// texts decodes n texts and returns their words.
func (r *reader) texts(data []byte, n int) ([]int64, error) {
	var words []int64
	for range n {
		length := binary.LittleEndian.Uint32(data)
		text := string(data[4 : 4+length])
		data = data[4+length:]
		w, known := r.words[text]
		if !known {
			w = int64(len(r.column.Texts))
			r.words[text] = w
			r.column.Texts = append(r.column.Texts, text)
		}
		words = append(words, w)
	}
	return words, nil
}

// maxPage is the largest number of values of a page. A few bytes can encode any number of equal
// values, so that a damaged file could exhaust the memory.
const maxPage = 1 << 24

// values decodes the n values of a page.
func (r *reader) values(n int, levels, data []byte, encoding format.Encoding) ([]int64, error) {
	if n > maxPage {
		return nil, fmt.Errorf("page of %d values (expected at most %d)", n, maxPage)
	}
	present := n
	var defined []byte
	if r.column.Nullable {
		err := checkRuns(levels, 1, n)
		if err != nil {
			return nil, err
		}
		if defined, err = (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, levels); err != nil {
			return nil, err
		}
		defined = defined[:n]
		present = 0
		for _, d := range defined {
			present += int(d)
		}
	}
	words, err := r.decode(present, data, encoding)
	if err != nil {
		return nil, err
	}
	if words = words[:present]; defined == nil {
		return words, nil
	}
	r.out = r.out[:0]
	next := 0
	for _, d := range defined {
		if d == 0 {
			r.out = append(r.out, Null)
			continue
		}
		r.out = append(r.out, words[next])
		next++
	}
	return r.out, nil
}

// decode decodes n values that are not null.
func (r *reader) decode(n int, data []byte, encoding format.Encoding) (words []int64, err error) {
	if n == 0 {
		return nil, nil
	}
	dictionary := encoding == format.RLEDictionary ||
		encoding == format.PlainDictionary //nolint:staticcheck // deprecated, but other programs still write it
	switch kind := r.column.Type; {
	case kind == Int && encoding == format.DeltaBinaryPacked:
		if err := checkDifferences(data, n); err != nil {
			return nil, err
		}
		return (&delta.BinaryPackedEncoding{}).DecodeInt64(nil, data)
	case kind == Text && encoding == format.Plain:
		return r.texts(data, n)
	case kind == Text && dictionary:
		width := int(data[0])
		if err := checkRuns(data[1:], width, n); err != nil {
			return nil, err
		}
		index, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(nil, data[1:])
		if err != nil {
			return nil, err
		}
		for _, i := range index[:n] {
			words = append(words, r.dict[i])
		}
		return words, nil
	case kind == Bool && encoding == format.Plain:
		for i := range n {
			words = append(words, int64(data[i/8]>>(i%8)&1))
		}
		return words, nil
	case (kind == Int || kind == Float) && encoding == format.Plain:
		for i := range n {
			words = append(words, int64(binary.LittleEndian.Uint64(data[8*i:])))
		}
		return words, nil
	}
	return nil, fmt.Errorf("unknown encoding %v", encoding)
}

// checkRuns checks that runs of values of some bits encode n values, before a decoder allocates
// memory for what a damaged file says. Packed runs have a multiple of eight values.
func checkRuns(data []byte, width, n int) error {
	for total := 0; len(data) > 0; {
		head, length := binary.Uvarint(data)
		count, bytes := int(head>>1), (width+7)/8
		if head&1 != 0 {
			bytes = count * width
			count *= 8
		}
		if total += count; length <= 0 || count < 0 || total > n+7 || bytes > len(data)-length {
			return errDamaged
		}
		data = data[length+bytes:]
	}
	return nil
}

// checkDifferences checks that encoded differences belong to n values.
func checkDifferences(data []byte, n int) error {
	var head [3]uint64 // size of a block, number of its parts, number of values
	for i := range head {
		length := 0
		if head[i], length = binary.Uvarint(data); length <= 0 {
			return errDamaged
		}
		data = data[length:]
	}
	if head[2] != uint64(n) {
		return errDamaged
	}
	return nil
}
