package metrics

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// Row is one flow of flows.parquet and flows.csv. Columns that have no value
// for an unfinished flow are null in parquet and empty in CSV.
//
// Columns are encoded but not compressed: compressors choose their code by CPU,
// and the bytes of a result must not depend on it.
type Row struct {
	ID        int64   `parquet:"id,delta"`
	Workload  string  `parquet:"workload,dict"`
	Src       string  `parquet:"src,dict"`
	Dst       string  `parquet:"dst,dict"`
	Class     int32   `parquet:"class,delta"`
	Size      int64   `parquet:"size_bytes,delta"`
	Start     int64   `parquet:"start_ps,delta"`
	Acked     int64   `parquet:"acked_ps,optional,delta"`     // the last ACK reached the source
	Delivered int64   `parquet:"delivered_ps,optional,delta"` // the last byte reached the destination in order
	FCT       int64   `parquet:"fct_ps,optional,delta"`       // acked - start
	Ideal     int64   `parquet:"ideal_ps,delta"`
	Slowdown  float64 `parquet:"slowdown,optional"`
	Resent    int64   `parquet:"resent,delta"` // packets sent again
	Timeouts  int64   `parquet:"timeouts,delta"`
	Early     int64   `parquet:"early,delta"` // packets that arrived ahead of a gap
	Twice     int64   `parquet:"twice,delta"` // packets that had arrived before
	Measured  bool    `parquet:"measured"`
	Finished  bool    `parquet:"finished"`
	Group     int64   `parquet:"group,delta"` // burst of an incast, -1 for none
}

// row returns the row of a flow.
func (o *Outcome) row(i int) Row {
	f, send, recv := &o.Flows.Flow[i], &o.Flows.Send[i], &o.Flows.Recv[i]
	r := Row{
		ID: int64(i), Workload: o.Workloads[o.Origin[i]], Src: o.Hosts[f.Src], Dst: o.Hosts[f.Dst], Class: int32(f.Class),
		Size: int64(f.Size), Start: int64(o.start(i)), Acked: int64(send.Acked), Delivered: int64(recv.Delivered), Ideal: int64(o.Ideal[i]),
		Resent: int64(send.Resent), Timeouts: int64(send.Timeouts), Early: int64(recv.Early), Twice: int64(recv.Twice),
		Measured: o.Measured[i], Group: int64(o.Groups[i]),
	}
	if fct, done := o.fct(i); done {
		r.FCT, r.Slowdown, r.Finished = int64(fct), o.slowdown(i, fct), true
	}
	return r
}

// rowBatch is how many rows are handed to the parquet writer at a time.
const rowBatch = 1024

// WriteParquet writes one row per flow, in order of their ids.
func (o *Outcome) WriteParquet(w io.Writer) error {
	// The default name of the writer holds its build; a fixed one keeps the
	// bytes the same in every binary.
	out := parquet.NewGenericWriter[Row](w, parquet.CreatedBy("xoff", strconv.Itoa(SchemaVersion), "none"))
	batch := make([]Row, 0, rowBatch)
	flush := func() error {
		_, err := out.Write(batch)
		batch = batch[:0]
		return err
	}
	for i := range o.Flows.Flow {
		if !o.Flows.Offered(i) {
			continue
		}
		batch = append(batch, o.row(i))
		if len(batch) == rowBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return out.Close()
}

// csvHeader names the columns as the parquet file does.
var csvHeader = []string{
	"id", "workload", "src", "dst", "class", "size_bytes", "start_ps", "acked_ps", "delivered_ps", "fct_ps", "ideal_ps",
	"slowdown", "resent", "timeouts", "early", "twice", "measured", "finished", "group",
}

// WriteCSV writes the same table as WriteParquet.
func (o *Outcome) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	for i := range o.Flows.Flow {
		if !o.Flows.Offered(i) {
			continue
		}
		r := o.row(i)
		if err := out.Write(r.fields()); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (r *Row) fields() []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	known := func(v int64) string {
		if v == 0 {
			return ""
		}
		return n(v)
	}
	slowdown := ""
	if r.Finished {
		slowdown = strconv.FormatFloat(r.Slowdown, 'g', -1, 64)
	}
	return []string{
		n(r.ID), r.Workload, r.Src, r.Dst, n(int64(r.Class)), n(r.Size), n(r.Start), known(r.Acked), known(r.Delivered), known(r.FCT),
		n(r.Ideal), slowdown, n(r.Resent), n(r.Timeouts), n(r.Early), n(r.Twice),
		strconv.FormatBool(r.Measured), strconv.FormatBool(r.Finished), n(r.Group),
	}
}
