package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Folder of the lists of created namespaces, and folder where ip(8) keeps namespaces.
const (
	listFolder  = "/run/xoff"
	spaceFolder = "/run/netns"
)

// Made is a plan that was created.
type Made struct {
	plan *Plan
	list *os.File // locked while this process lives
}

// Make creates the namespaces and veth pairs of a plan. It first removes those that a killed run
// with the same prefix left. If it fails, or the context ends, it removes everything.
func Make(ctx context.Context, p *Plan) (*Made, error) {
	if err := CheckPrefix(p.Prefix); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, errors.New("ip(8) is not installed; fix: install iproute2")
	}
	m := &Made{plan: p}
	if err := m.lock(); err != nil {
		return nil, err
	}
	err := m.removeListed()
	if err == nil {
		err = m.create(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, m.Remove())
	}
	return m, nil
}

// lock opens and locks the list. The lock shows that a run is alive.
func (m *Made) lock() error {
	if os.Geteuid() != 0 {
		return errors.New("creating namespaces needs root")
	}
	if err := os.MkdirAll(listFolder, 0o755); err != nil {
		return fmt.Errorf("cannot write the list of namespaces: %w", err)
	}
	for m.list == nil {
		f, err := os.OpenFile(filepath.Join(listFolder, m.plan.Prefix), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("cannot write the list of namespaces: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = f.Close()
			return fmt.Errorf("namespaces %s-* are in use by another run; fix: wait for it, or choose another --prefix", m.plan.Prefix)
		}
		if current(f) {
			m.list = f
		} else {
			_ = f.Close() // another run removed the file meanwhile
		}
	}
	return nil
}

// current reports whether an open file still exists under its name.
func current(f *os.File) bool {
	is, err1 := f.Stat()
	named, err2 := os.Stat(f.Name())
	return err1 == nil && err2 == nil && os.SameFile(is, named)
}

// listed returns the names on the list.
func (m *Made) listed() ([]string, error) {
	b, err := os.ReadFile(m.list.Name())
	return strings.Fields(string(b)), err
}

// removeListed removes the namespaces on the list.
func (m *Made) removeListed() error {
	names, err := m.listed()
	if err != nil {
		return err
	}
	for _, name := range names {
		if exists(name) {
			if err := ip("netns", "del", name); err != nil {
				return err
			}
		}
	}
	return m.list.Truncate(0)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(spaceFolder, name))
	return err == nil
}

// create writes the names of all namespaces to the list, then creates them.
func (m *Made) create(ctx context.Context) error {
	var names []string
	for _, s := range m.plan.Spaces() {
		name := m.plan.Full(s)
		if exists(name) {
			return fmt.Errorf("namespace %s exists and was not created by xoff; fix: remove it, or choose another --prefix", name)
		}
		names = append(names, name)
	}
	if _, err := m.list.WriteAt([]byte(strings.Join(names, "\n")+"\n"), 0); err != nil {
		return err
	}
	if err := m.list.Sync(); err != nil {
		return err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := ip("netns", "add", name); err != nil {
			return err
		}
	}
	for i := range m.plan.Pairs {
		a, b := &m.plan.Pairs[i].A, &m.plan.Pairs[i].B
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := ip("link", "add", a.Name, "netns", m.plan.Full(a.Space), "type", "veth",
			"peer", "name", b.Name, "netns", m.plan.Full(b.Space)); err != nil {
			return err
		}
	}
	for _, s := range m.plan.Spaces() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := m.In(s, func() error { return m.configure(s) }); err != nil {
			return err
		}
	}
	return nil
}

// configure sets up the interfaces of the current namespace.
func (m *Made) configure(space string) error {
	real := slices.ContainsFunc(m.plan.Pairs, func(p Pair) bool {
		return p.A.Space == space && p.A.Address.IsValid() || p.B.Space == space && p.B.Address.IsValid()
	})
	if real {
		// A real host: use ECN.
		_ = os.WriteFile("/proc/sys/net/ipv4/tcp_ecn", []byte("1"), 0)
		if err := ip("link", "set", "lo", "up"); err != nil {
			return err
		}
	} else {
		// Disable IPv6, so that the kernel sends no router solicitations. Errors mean that there
		// is no IPv6.
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	}
	for i := range m.plan.Pairs {
		for _, e := range []*End{&m.plan.Pairs[i].A, &m.plan.Pairs[i].B} {
			if e.Space != space {
				continue
			}
			if err := configure(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func configure(e *End) error {
	if err := offloadsOff(e.Name); err != nil {
		return fmt.Errorf("interface %s: %w", e.Name, err)
	}
	link := []string{"link", "set", "dev", e.Name, "mtu", strconv.Itoa(e.MTU)}
	if e.MAC != "" {
		link = append(link, "address", e.MAC)
	}
	if !e.Address.IsValid() {
		link = append(link, "arp", "off")
	}
	if err := ip(append(link, "up")...); err != nil {
		return err
	}
	if e.Address.IsValid() {
		return ip("addr", "add", e.Address.String(), "dev", e.Name)
	}
	return nil
}

// In calls do in a network namespace. Sockets that it opens stay in that namespace.
func (m *Made) In(space string, do func() error) error {
	done := make(chan error)
	go func() {
		// The goroutine never unlocks the thread, so the thread ends with it.
		runtime.LockOSThread()
		f, err := os.Open(filepath.Join(spaceFolder, m.plan.Full(space)))
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			_ = f.Close()
		}
		if err != nil {
			done <- fmt.Errorf("cannot enter the namespace of %s: %w", space, err)
			return
		}
		done <- do()
	}()
	return <-done
}

// Remove removes all namespaces and the list.
func (m *Made) Remove() error {
	err := m.removeListed()
	if err == nil {
		err = os.Remove(m.list.Name())
	}
	return errors.Join(err, m.list.Close())
}

func ip(args ...string) error {
	c := exec.Command("ip", args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keep Ctrl-C from reaching ip
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Commands of ethtool (linux/ethtool.h) that enable or disable a feature.
const (
	setRxChecksum = 0x15
	setTxChecksum = 0x17
	setScatter    = 0x19
	setTSO        = 0x1f
	setGSO        = 0x24
	setGRO        = 0x2c
)

// offloadsOff disables offloads, so that frames are no longer than the MTU and have checksums.
func offloadsOff(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	for _, cmd := range []uint32{setTSO, setGSO, setGRO, setScatter, setTxChecksum, setRxChecksum} {
		value := struct{ cmd, data uint32 }{cmd, 0}
		req := struct {
			name [unix.IFNAMSIZ]byte
			data uintptr
			_    [16]byte
		}{data: uintptr(unsafe.Pointer(&value))}
		copy(req.name[:unix.IFNAMSIZ-1], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
		runtime.KeepAlive(&value)
		if errno != 0 && errno != unix.EOPNOTSUPP {
			return fmt.Errorf("cannot disable offloads: %w", errno)
		}
	}
	return nil
}
