package capture_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/record/capture"
	"github.com/xoff-net/xoff/run"
)

// minFrames is the smallest number of frames in a comparison.
const minFrames = 10000

// compare compares the frames of a file with the frames of the run.
func compare(t *testing.T, got, want []frameSeen) {
	t.Helper()
	if len(got) != len(want) || len(got) < minFrames {
		t.Fatalf("%d frames in the file, %d in the run; want at least %d", len(got), len(want), minFrames)
	}
	kinds := make(map[string]int)
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("frame %d:\ngot  %+v\nwant %+v", i+1, got[i], want[i])
		}
		for _, k := range []string{"pfc", "opcode 6 ", "opcode 7 ", "opcode 8 ", "syndrome 31", "syndrome 96", "opcode 129", "data ", "blocks ", "ce true", "echo true"} {
			if strings.Contains(got[i].text, k) {
				kinds[k]++
			}
		}
	}
	if len(kinds) != 11 {
		t.Errorf("some kinds of frames are missing: %v", kinds)
	}
}

// icrc computes the ICRC bit by bit.
func icrc(ip []byte) uint32 {
	b := append(bytes.Repeat([]byte{0xff}, 8), ip...)
	for _, i := range []int{1, 8, 10, 11, 26, 27, 32} { // fields that may change in flight
		b[8+i] = 0xff
	}
	crc := ^uint32(0)
	for _, x := range b {
		crc ^= uint32(x)
		for range 8 {
			crc = crc>>1 ^ 0xedb88320&-(crc&1)
		}
	}
	return ^crc
}

// read describes a frame from its bytes, in the form of describe.
func read(t *testing.T, data []byte) string {
	t.Helper()
	be := binary.BigEndian
	p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.DecodeOptions{NoCopy: true})
	eth, ok := p.LinkLayer().(*layers.Ethernet)
	if !ok {
		t.Fatalf("not an Ethernet frame: %x", data)
	}
	if eth.EthernetType == 0x8808 {
		b := data[14:]
		text := fmt.Sprintf("pfc enable %d times", be.Uint16(b[2:]))
		for c := range 8 {
			text += fmt.Sprintf(" %d", be.Uint16(b[4+2*c:]))
		}
		if be.Uint16(b) != 0x0101 || eth.DstMAC.String() != "01:80:c2:00:00:01" || len(data) != 60 {
			t.Fatalf("not a PFC frame: %x", data)
		}
		return text
	}
	if e := p.ErrorLayer(); e != nil {
		t.Fatal(e.Error())
	}
	ip, ok := p.NetworkLayer().(*layers.IPv4)
	if !ok {
		t.Fatalf("not an IP packet: %x", data)
	}
	host := func(a []byte) uint32 { return be.Uint32(a) - 0x0a000001 }
	hosts := fmt.Sprintf("%d to %d class %d", host(ip.SrcIP.To4()), host(ip.DstIP.To4()), ip.TOS>>5)
	ce := ip.TOS&3 == 3
	if err, sum := ip.VerifyChecksum(); err != nil || !sum.Valid {
		t.Fatalf("checksum of IP: %+v, %v", sum, err)
	}
	if tcp, ok := p.TransportLayer().(*layers.TCP); ok {
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		if err, sum := tcp.VerifyChecksum(); err != nil || !sum.Valid {
			t.Fatalf("checksum of TCP: %+v, %v", sum, err)
		}
		if tcp.SrcPort >= 1024 {
			return fmt.Sprintf("tcp %s data %d of %d B ce %t", hosts, tcp.Seq, len(tcp.Payload), ce)
		}
		text := fmt.Sprintf("tcp %s ack %d echo %t blocks", hosts, tcp.Ack, tcp.ECE)
		for _, o := range tcp.Options {
			for d := o.OptionData; o.OptionType == layers.TCPOptionKindSACK && len(d) > 0; d = d[8:] {
				text += fmt.Sprintf(" %d-%d", be.Uint32(d), be.Uint32(d[4:]))
			}
		}
		return text
	}
	b := p.TransportLayer().LayerPayload()
	whole := data[14 : 14+ip.Length]
	if end := len(whole) - 4; binary.LittleEndian.Uint32(whole[end:]) != icrc(whole[:end]) {
		t.Fatalf("wrong ICRC: %x", data)
	}
	psn, hosts := be.Uint32(b[8:])&0xffffff, hosts+fmt.Sprintf(" qp %d", be.Uint32(b[4:])&0xffffff)
	switch op := b[0]; op {
	case 17:
		return fmt.Sprintf("roce %s opcode 17 psn %d syndrome %d", hosts, psn, b[12])
	case 129:
		return fmt.Sprintf("roce %s opcode 129 psn %d", hosts, psn)
	default:
		n := len(b) - 12 - 4 - int(b[1]>>4&3)
		if op == 6 || op == 10 {
			n -= 16
		}
		return fmt.Sprintf("roce %s opcode %d psn %d of %d B ce %t", hosts, op, psn, n, ce)
	}
}

func TestFieldsByGopacket(t *testing.T) {
	c, w := captured(t, busy, capture.Spec{Ports: "leaf0"}, "leaf0", run.Options{})
	r, err := pcapgo.NewNgReader(bytes.NewReader(c.out.Bytes()), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	var got []frameSeen
	for _, b := range readBlocks(t, c.out.Bytes()) {
		data, about, err := r.ReadPacketData()
		if err != nil || !bytes.Equal(data[:len(data)-4], b.data) || about.Timestamp.UnixNano() != int64(b.at/units.Nanosecond) {
			t.Fatalf("%v at %s: %v", about, b.at, err)
		}
		got = append(got, frameSeen{b.at, b.port, b.out, read(t, b.data)})
	}
	compare(t, got, w.seen())
}

// tshark returns a function that reads a file with tshark. It skips the test if tshark is
// not installed.
func tshark(t *testing.T) func(file string, args ...string) []string {
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	return func(file string, args ...string) []string {
		cmd := exec.Command(path, append([]string{"-n", "-r", file}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tshark %s: %v", strings.Join(args, " "), err)
		}
		return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	}
}

var fields = strings.Fields(`frame.time_epoch frame.interface_name frame.packet_flags_direction ip.src ip.dst ip.dsfield.dscp ip.dsfield.ecn
	infiniband.bth.opcode infiniband.bth.destqp infiniband.bth.psn infiniband.aeth.syndrome data.len
	tcp.srcport tcp.seq_raw tcp.ack_raw tcp.len tcp.flags.ece tcp.options.sack_le tcp.options.sack_re macc.cbfc.enbv
	macc.cbfc.pause_time.c0 macc.cbfc.pause_time.c1 macc.cbfc.pause_time.c2 macc.cbfc.pause_time.c3
	macc.cbfc.pause_time.c4 macc.cbfc.pause_time.c5 macc.cbfc.pause_time.c6 macc.cbfc.pause_time.c7`)

// fromFields describes a frame from tshark's output, in the form of describe.
func fromFields(t *testing.T, line string) frameSeen {
	t.Helper()
	f := make(map[string]string)
	for i, v := range strings.Split(line, "\t") {
		f[fields[i]] = v
	}
	n := func(name string) int64 {
		v, err := strconv.ParseInt(f[name], 0, 64)
		if err != nil {
			t.Fatalf("%s: %v in %q", name, err, line)
		}
		return v
	}
	seconds, nanos, _ := strings.Cut(f["frame.time_epoch"], ".")
	var at units.Time
	if _, err := fmt.Sscanf(seconds+" 1"+nanos, "%d %d", new(int), &at); err != nil {
		t.Fatal(err)
	}
	s := frameSeen{at: (at - 1e9) * units.Nanosecond, port: f["frame.interface_name"], out: n("frame.packet_flags_direction") == 2}
	if f["macc.cbfc.enbv"] != "" {
		s.text = fmt.Sprintf("pfc enable %d times", n("macc.cbfc.enbv"))
		for c := range 8 {
			s.text += fmt.Sprintf(" %d", n(fmt.Sprintf("macc.cbfc.pause_time.c%d", c)))
		}
		return s
	}
	host := func(name string) int {
		var a, b, c, d int
		if _, err := fmt.Sscanf(f[name], "%d.%d.%d.%d", &a, &b, &c, &d); err != nil {
			t.Fatal(err)
		}
		return b<<16 + c<<8 + d - 1
	}
	hosts := fmt.Sprintf("%d to %d class %d", host("ip.src"), host("ip.dst"), n("ip.dsfield.dscp")/8)
	ce := n("ip.dsfield.ecn") == 3
	switch {
	case f["tcp.srcport"] != "" && n("tcp.srcport") >= 1024:
		s.text = fmt.Sprintf("tcp %s data %d of %d B ce %t", hosts, n("tcp.seq_raw"), n("tcp.len"), ce)
	case f["tcp.srcport"] != "":
		s.text = fmt.Sprintf("tcp %s ack %d echo %t blocks", hosts, n("tcp.ack_raw"), f["tcp.flags.ece"] == "1" || f["tcp.flags.ece"] == "True")
		if to := strings.Split(f["tcp.options.sack_re"], ","); to[0] != "" {
			for i, from := range strings.Split(f["tcp.options.sack_le"], ",") {
				s.text += fmt.Sprintf(" %s-%s", from, to[i])
			}
		}
	default:
		op := n("infiniband.bth.opcode")
		s.text = fmt.Sprintf("roce %s qp %d opcode %d psn %d", hosts, n("infiniband.bth.destqp"), op, n("infiniband.bth.psn"))
		switch op {
		case 17:
			s.text += fmt.Sprintf(" syndrome %d", n("infiniband.aeth.syndrome"))
		case 129:
		default:
			s.text += fmt.Sprintf(" of %d B ce %t", n("data.len"), ce)
		}
	}
	return s
}

// save writes a capture to a file.
func save(t *testing.T, c *memCapture) string {
	file := filepath.Join(t.TempDir(), "capture.pcapng")
	if err := os.WriteFile(file, c.out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFieldsByTshark(t *testing.T) {
	ask := tshark(t)
	c, w := captured(t, busy, capture.Spec{Ports: "leaf0"}, "leaf0", run.Options{})
	args := []string{"-T", "fields", "-o", "tcp.relative_sequence_numbers:FALSE"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var got []frameSeen
	for _, line := range ask(save(t, c), args...) {
		got = append(got, fromFields(t, line))
	}
	want := w.seen()
	for i := range want {
		want[i].at -= want[i].at % units.Nanosecond // tshark prints nanoseconds
	}
	if len(got) == len(want) {
		for i := range got { // tshark counts up to three bytes of padding as data
			var a, b int
			if at := strings.Index(got[i].text, " of "); at > 0 && strings.HasPrefix(got[i].text, "roce") {
				_, _ = fmt.Sscanf(got[i].text[at:], " of %d B", &a)
				_, _ = fmt.Sscanf(want[i].text[strings.Index(want[i].text, " of "):], " of %d B", &b)
				got[i].text = strings.Replace(got[i].text, fmt.Sprintf(" of %d B", a), fmt.Sprintf(" of %d B", a-(4-b%4)%4), 1)
			}
		}
	}
	compare(t, got, want)
}

// tshark finds no malformed frames and no errors, with every scheme that has its own frames
// or adds data to frames.
func TestTsharkFindsNoError(t *testing.T) {
	ask := tshark(t)
	incast := strings.NewReplacer("faults:", "ignored:").Replace(busy)
	incast = incast[:strings.Index(incast, "ignored:")] + incast[strings.Index(incast, "run:"):]
	for _, c := range []struct {
		name, file, text string
		set              []string
		ports, has       string // captured; a filter that must match
	}{
		{name: "busy", text: busy, has: "infiniband.bth.opcode == 0x81"},
		{name: "hpcc", text: incast, set: []string{"hosts.cc={name: hpcc}"}, has: "xoff.what == 0x15 && xoff.count == 2 && infiniband.bth.opcode == 7"},
		{name: "irn", text: busy, set: []string{"hosts.reliability={name: irn}"}, ports: "leaf0.to-host3", has: "infiniband.aeth.syndrome == 0x60 && xoff.what == 0x15"},
		{name: "roundabout", file: "roundabout-ring.yaml", set: []string{"switch.deadlock={name: roundabout}", "switch.pfc={hold: indefinite, coalesce: false}"},
			ports: "switch0.to-switch1", has: "xoff.ra.opcode == 1 && macc"},
		{name: "itsy", file: "deadlock.yaml", set: []string{"switch.deadlock={name: itsy}"}, has: "xoff.what == 0x14 && macc"},
		{name: "breaker", file: "deadlock.yaml", set: []string{"switch.deadlock={name: deadlock-breaker}"}, has: "xoff.what == 0x12"},
		{name: "cbfc", text: incast, set: []string{"switch.flow_control={name: cbfc, period: 5us}", "switch.buffer.size=8MB"}, has: "xoff.what == 0x10 && xoff.class == 3"},
		{name: "adaptive", text: incast, set: []string{"switch.flow_control={name: adaptive}"}, has: "xoff.what == 0x11 && xoff.count == 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := save(t, &memCapture{Capture: nil, out: *runSet(t, c.file, c.text, cmp.Or(c.ports, "*.to-*"), c.set)})
			checked := []string{"-X", "lua_script:../../../docs/xoff.lua", "-o", "eth.check_fcs:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-Y"}
			if list := ask(file, append(checked, "_ws.malformed || _ws.expert.severity >= 0x00800000 || eth.fcs.status == 0")...); list[0] != "" {
				t.Errorf("%d frames are malformed or in error: %s", len(list), list[0])
			}
			if list := ask(file, append(checked, c.has)...); list[0] == "" {
				t.Errorf("no frame has %s", c.has)
			}
		})
	}
}
