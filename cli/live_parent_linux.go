package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/live"
	"github.com/xoff-net/xoff/internal/netns"
	"github.com/xoff-net/xoff/scenario/build"
)

// parent makes what a run needs of the system, runs it as a child without privileges, and
// removes what it made.
func (a *app) parent(cmd *cobra.Command, b *build.Built, l *liveFlags, folder string) (err error) {
	s := &l.system
	who, err := s.credential()
	if err != nil {
		return err
	}
	all, in := s.lines(b), func(_ string, do func() error) error { return do() }
	if s.setup != "" {
		var plan *netns.Plan
		plan, all = s.plan(b, l.wire == wirePacket)
		made, err := netns.Make(plan)
		if err != nil {
			return wrap(exitFailure, err)
		}
		defer func() {
			if gone := made.Remove(); gone != nil {
				err = errors.Join(err, wrap(exitFailure, gone))
			}
		}()
		in = made.In
		a.tellSetup(plan)
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for _, l := range all {
		if err := in(l.space, func() error {
			f, err := live.OpenRing(l.name, l.mtu)
			files = append(files, f)
			return err
		}); err != nil {
			return wrap(exitFailure, err)
		}
	}
	if folder != "" && who != nil {
		if err := handOver(folder, who); err != nil {
			return wrap(exitFailure, err)
		}
	}
	return a.child(cmd, files, who, folder)
}

// tellSetup says where things are.
func (a *app) tellSetup(plan *netns.Plan) {
	if a.quiet {
		return
	}
	var real []string
	for _, p := range plan.Pairs {
		for _, e := range []netns.End{p.A, p.B} {
			if e.Address.IsValid() {
				real = append(real, fmt.Sprintf("%s (%s)", plan.Full(e.Space), e.Address.Addr()))
			}
		}
	}
	fmt.Fprintf(a.err, "xoff: namespaces: %s-{%s}\n", plan.Prefix, strings.Join(plan.Spaces(), ","))
	if len(real) > 0 {
		fmt.Fprintf(a.err, "xoff: real hosts: %s; as in: ip netns exec %s ping ...\n", strings.Join(real, ", "), strings.Fields(real[0])[0])
	}
}

// handOver makes the folder of results one that the child may write to.
func handOver(folder string, who *syscall.Credential) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.Chown(folder, int(who.Uid), int(who.Gid))
}

// child runs this program once more, with sockets and without privileges.
func (a *app) child(cmd *cobra.Command, files []*os.File, who *syscall.Credential, folder string) error {
	// The child dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	numbers := make([]string, len(files))
	for i := range files {
		numbers[i] = strconv.Itoa(3 + i) // behind standard error
	}
	args := append(os.Args[1:len(os.Args):len(os.Args)], "--sockets", strings.Join(numbers, ","))
	if folder != "" {
		args = append(args, "-o", folder)
	}
	// By this name it is found even where the user of the child may not look.
	c := exec.Command("/proc/self/exe", args...)
	c.Args[0] = os.Args[0]
	c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = os.Stdin, a.out, a.err, files
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Credential: who}
	if err := c.Start(); err != nil {
		return wrap(exitFailure, err)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-cmd.Context().Done():
			_ = c.Process.Signal(os.Interrupt)
		case <-done:
		}
	}()
	err := c.Wait()
	close(done)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &failure{code: exit.ExitCode()} // it has said why
	}
	return wrap(exitFailure, err)
}

// nobody is the user and group of that name.
const nobody = 65534

// credential is who the child is; nil: who its parent is, which has no privileges to drop.
func (s *systemFlags) credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		if s.user != "" {
			return nil, failf(exitInput, "--user is for root, who can become somebody else")
		}
		return nil, nil
	}
	who := s.user
	if sudo := os.Getenv("SUDO_UID"); who == "" && sudo != "" {
		who = sudo + ":" + os.Getenv("SUDO_GID")
	}
	if who == "" {
		return &syscall.Credential{Uid: nobody, Gid: nobody}, nil
	}
	uid, gid, ok := strings.Cut(who, ":")
	if !ok {
		gid = uid
	}
	u, err1 := strconv.ParseUint(uid, 10, 32)
	g, err2 := strconv.ParseUint(gid, 10, 32)
	if err1 != nil || err2 != nil {
		return nil, failf(exitInput, "--user is %q; allowed: UID:GID, in numbers", who)
	}
	return &syscall.Credential{Uid: uint32(u), Gid: uint32(g)}, nil
}
