package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/xoff-net/xoff/internal/sys/disk"
)

// HandOver makes sure that the child can write to the folder of results. It changes the owner
// only if the folder is new, empty or contains a file named results.
func HandOver(folder, results string, who *User) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	if who == nil || as(who, func() error { return disk.Prepare(folder) }) == nil {
		return nil
	}
	inside, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, results)); len(inside) == 0 || err == nil {
		if err := os.Lchown(folder, int(who.UID), int(who.GID)); err != nil {
			return err
		}
	}
	if err := as(who, func() error { return disk.Prepare(folder) }); err != nil {
		return fmt.Errorf("%w (the run uses uid %d); fix: choose a folder that this user can write to with -o, or another --user", err, who.UID)
	}
	return nil
}

// as calls do with the file access rights of another user.
func as(who *User, do func() error) error {
	done := make(chan error)
	go func() {
		// The goroutine never unlocks the thread, so the thread ends with it.
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 { // of this thread only
			done <- errno
			return
		}
		err := unix.Setfsgid(int(who.GID))
		if err == nil {
			err = unix.Setfsuid(int(who.UID)) // also drops the capability to override permissions
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// Run runs the child to its end and returns its exit code.
func (c *Child) Run(ctx context.Context) (code int, err error) {
	// Pdeathsig kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	numbers := make([]string, len(c.Files))
	for i := range c.Files {
		numbers[i] = strconv.Itoa(3 + i) // after standard error
	}
	args := withFlags(c.Args[1:], "--sockets", strings.Join(numbers, ","), "-o", c.Folder)
	// This path works even if the child's user cannot read the folder of the program.
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = c.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = bytes.NewReader(c.Text), c.Out, c.Err, c.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if c.User != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.User.UID, Gid: c.User.GID}
	}
	if err := dropPrivileges(); err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Signal(os.Interrupt)
		case <-done:
		}
	}()
	err = cmd.Wait()
	close(done)
	exit := (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	case err != nil && ctx.Err() != nil:
		return 0, ErrNotBegun
	case err != nil:
		return 0, fmt.Errorf("the run ended unexpectedly: %w", err)
	}
	return 0, nil
}

// dropPrivileges prevents processes that this thread starts from gaining privileges through
// files or ambient capabilities.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// nobody is the id of the user and of the group nobody.
const nobody = 65534

// ChildUser returns the user of the child: from --user, else the one who called sudo, else
// nobody. It is nil if the parent is not root.
func ChildUser(text string) (*User, error) {
	if os.Geteuid() != 0 {
		if text != "" {
			return nil, errors.New("--user needs root")
		}
		return nil, nil
	}
	who := text
	// SUDO_UID is 0 if root called sudo.
	if sudo := os.Getenv("SUDO_UID"); who == "" && sudo != "" && sudo != "0" {
		who = sudo + ":" + os.Getenv("SUDO_GID")
	}
	if who == "" {
		return &User{nobody, nobody}, nil
	}
	uid, gid, ok := strings.Cut(who, ":")
	if !ok {
		gid = uid
	}
	u, err1 := strconv.ParseUint(uid, 10, 32)
	g, err2 := strconv.ParseUint(gid, 10, 32)
	if err1 != nil || err2 != nil || u == 0 || g == 0 {
		return nil, fmt.Errorf("--user is %q (expected UID:GID as numbers, not root)", who)
	}
	return &User{uint32(u), uint32(g)}, nil
}
