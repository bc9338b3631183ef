package script

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Ports below this range are never given to programs that ask the system for any port, such as
// other tests. Linux starts at 32768, others higher.
const (
	firstPort = 20_000
	lastPort  = 32_000
	portBlock = 16
)

var portBlocks atomic.Int64 // that this process has taken

// FreePorts returns the first of 16 consecutive ports at which no process listens. No other test
// of this process gets them, and other processes begin elsewhere.
func FreePorts() int {
	const blocks = (lastPort - firstPort) / portBlock
	for {
		block := (os.Getpid()*31 + int(portBlocks.Add(1))) % blocks
		port := firstPort + block*portBlock
		if free(port) {
			return port
		}
	}
}

// free reports whether all ports of a block can be used.
func free(first int) bool {
	for port := first; port < first+portBlock; port++ {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err != nil {
			return false
		}
		_ = l.Close()
		u, err := net.ListenPacket("udp", address)
		if err != nil {
			return false
		}
		_ = u.Close()
	}
	return true
}
