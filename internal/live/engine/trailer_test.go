package engine

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/packet"
)

// TestTrailersByTshark checks that tshark with the xoff dissector decodes the trailers of data, of a
// PAUSE and of a frame of a real host, and that it finds none in a plain frame.
func TestTrailersByTshark(t *testing.T) {
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	b := built(t, incast)
	c := codec{flows: b.Flows, hosts: b.Spec.Hosts}
	from, to := b.Spec.Cables[0].A, b.Spec.Cables[0].B
	data := packet.Packet{Seq: 7, Hash: b.Flows.Flow[0].Hash, To: b.Flows.Flow[0].Dst, Size: 1048, Meta: packet.MakeMeta(packet.Data, 1), Flags: packet.AckNow}
	var pause packet.Packet
	pause.SetPFC(2, 2, 65535)
	var f frame.Frame
	var h frame.Headers
	real := udpFrame(t, mac(2), mac(5), 0, 100)
	if err := h.Read(real); err != nil {
		t.Fatal(err)
	}
	f.Foreign(&h, real, 2, 5, 2)
	var frames [][]byte
	for _, x := range []struct {
		p   *packet.Packet
		ext packet.Ext
		due uint64
	}{{&data, nil, 0}, {&pause, nil, 1234}, {&f.Packet, f.Ext, 0}} {
		one, ok := c.encode(nil, from, to, x.p, x.ext, x.due)
		if !ok {
			t.Fatal("no frame")
		}
		frames = append(frames, one)
	}
	frames = append(frames, udpFrame(t, mac(2), mac(5), 0, 100))
	file := filepath.Join(t.TempDir(), "live.pcap")
	if err := os.WriteFile(file, pcap(frames), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-r", file, "-X", "lua_script:../../../docs/xoff.lua", "-T", "fields", "-E", "separator=;",
		"-e", "xoff.trailer.kind", "-e", "xoff.class", "-e", "xoff.trailer.number", "-e", "xoff.trailer.size", "-e", "xoff.word8")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	// Foreign: hosts 2 to 5 is 5 x 65536 + 2, size 142 B plus check sequence. PAUSE: 64 B, due at
	// 1234 = 0x4d2.
	want := "0;1;7;1048;\n6;0;65535;64;0x00000000000004d2\n5;2;327682;146;\n;;;;\n"
	if got := string(out); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// pcap returns a capture file of Ethernet frames.
func pcap(frames [][]byte) []byte {
	var b bytes.Buffer
	for _, v := range []any{uint32(0xa1b2c3d4), uint16(2), uint16(4), int32(0), uint32(0), uint32(65535), uint32(1)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	for i, f := range frames {
		_ = binary.Write(&b, binary.LittleEndian, []uint32{uint32(i), 0, uint32(len(f)), uint32(len(f))})
		b.Write(f)
	}
	return b.Bytes()
}
