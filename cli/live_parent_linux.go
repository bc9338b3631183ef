package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/live"
	"github.com/xoff-net/xoff/internal/netns"
	"github.com/xoff-net/xoff/run"
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
	// A terminal that is closed is as good as Ctrl-C; one that nohup spoke of is not.
	ctx, stop := cmd.Context(), func() {}
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	defer stop()
	all, in := s.lines(b), func(_ string, do func() error) error { return do() }
	if s.setup != "" {
		var plan *netns.Plan
		plan, all = s.plan(b, l.wire == wirePacket)
		over := a.meanwhile(fmt.Sprintf("makes %d namespaces", len(plan.Spaces())))
		made, err := netns.Make(ctx, plan)
		over()
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return failf(exitInterrupted, "interrupted; nothing was run, and everything is removed")
		}
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
	if err := handOver(folder, who); err != nil {
		return err
	}
	return a.child(ctx, s.text, files, who, folder)
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

// handOver makes the folder of results one that the child may write to. It changes the owner
// of one that is new, empty or has results; other folders are not for us to give away.
func handOver(folder string, who *syscall.Credential) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return wrap(exitFailure, fmt.Errorf("cannot write results: %w", err))
	}
	if who == nil || as(who, func() error { return disk.Prepare(folder) }) == nil {
		return nil
	}
	inside, err := os.ReadDir(folder)
	if err != nil {
		return wrap(exitFailure, err)
	}
	if _, err := os.Stat(filepath.Join(folder, run.SummaryFile)); len(inside) == 0 || err == nil {
		if err := os.Lchown(folder, int(who.Uid), int(who.Gid)); err != nil {
			return wrap(exitFailure, err)
		}
	}
	if err := as(who, func() error { return disk.Prepare(folder) }); err != nil {
		return failf(exitFailure, "%w, for user %d, who the run is going to be; allowed: a folder with -o that this user reaches, or another --user", err, who.Uid)
	}
	return nil
}

// as does something to files with the rights that somebody else has.
func as(who *syscall.Credential, do func() error) error {
	done := make(chan error)
	go func() {
		// The thread ends with this goroutine, because it is never unlocked.
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 { // of this thread only
			done <- errno
			return
		}
		err := unix.Setfsgid(int(who.Gid))
		if err == nil {
			err = unix.Setfsuid(int(who.Uid)) // which takes the right to overrule permissions, too
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// child runs this program once more, with sockets and without privileges.
func (a *app) child(ctx context.Context, text []byte, files []*os.File, who *syscall.Credential, folder string) error {
	// The child dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	numbers := make([]string, len(files))
	for i := range files {
		numbers[i] = strconv.Itoa(3 + i) // behind standard error
	}
	args := withFlags(os.Args[1:], "--sockets", strings.Join(numbers, ","), "-o", folder)
	// By this name it is found even where the user of the child may not look.
	c := exec.Command("/proc/self/exe", args...)
	c.Args[0] = os.Args[0]
	c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = bytes.NewReader(text), a.out, a.err, files
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Credential: who}
	err := renounce()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			_ = c.Process.Signal(os.Interrupt)
		case <-done:
		}
	}()
	err = c.Wait()
	close(done)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &failure{code: exit.ExitCode()} // it has said why
	}
	if err != nil && ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted before the run began") // and could take notice
	}
	if err != nil {
		err = fmt.Errorf("the run is gone: %w", err)
	}
	return wrap(exitFailure, err)
}

// withFlags adds flags to arguments, before a -- that ends them.
func withFlags(args []string, flags ...string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Insert(slices.Clone(args), end, flags...)
}

// renounce keeps what this thread starts from any privilege that comes with a file, or from
// its parent beside that of root.
func renounce() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
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
	// Root may have called sudo, too.
	if sudo := os.Getenv("SUDO_UID"); who == "" && sudo != "" && sudo != "0" {
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
	if err1 != nil || err2 != nil || u == 0 || g == 0 {
		return nil, failf(exitInput, "--user is %q; allowed: UID:GID, in numbers, and not root", who)
	}
	return &syscall.Credential{Uid: uint32(u), Gid: uint32(g)}, nil
}
