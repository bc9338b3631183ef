package hub

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func noEnv(string) string { return "" }

func TestToken(t *testing.T) {
	folder := t.TempDir()
	first, err := (&options{}).token(folder, noEnv)
	if err != nil || !first.fresh || len(first.text) < 20 || first.path != filepath.Join(folder, "token") {
		t.Fatalf("%+v %v", first, err)
	}
	if err := first.save(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(first.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again, err := (&options{}).token(folder, noEnv)
	if err != nil || again.fresh || again.text != first.text {
		t.Errorf("the token file is not used again: %+v %v", again, err)
	}
	if other, err := (&options{}).token(t.TempDir(), noEnv); err != nil || other.text == first.text {
		t.Errorf("two hubs have the same token: %v", err)
	}
	env := func(string) string { return " of the environment\n" }
	if _, err := (&options{}).token(t.TempDir(), func(string) string { return "fifteen letters" }); err == nil ||
		err.Error() != "the token in XOFF_NATS_TOKEN is too short: it has 15 characters (expected at least 16)" {
		t.Errorf("a short token: %v", err)
	}
	if got, err := (&options{}).token(t.TempDir(), env); err != nil || got.text != "of the environment" || got.path != "" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := (&options{tokenFile: first.path}).token(t.TempDir(), env); err != nil || got.text != first.text {
		t.Errorf("--token-file does not take precedence: %+v %v", got, err)
	}
	empty := filepath.Join(folder, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(folder, "short")
	if err := os.WriteFile(short, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(first.path, 0o640); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		first.path:                       "has mode 0640 (expected 0600); fix: chmod 600 ",
		empty:                            "is empty",
		short:                            "is too short: it has 6 characters",
		filepath.Join(folder, "no/such"): "token: open ",
	} {
		got, err := (&options{tokenFile: path}).token(folder, noEnv)
		if err == nil {
			err = got.save()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestWelcome(t *testing.T) {
	for _, c := range []struct {
		address  string
		t        token
		terminal bool
		has, not []string
	}{
		{"127.0.0.1:4222", token{"secret", "/t", true}, true, []string{
			"token: secret, in /t\n", "xoff worker nats://127.0.0.1:4222 --nats-token /t\n", "--nats nats://127.0.0.1:4222 --nats-token /t\n",
		}, []string{"Copy", "--nats-cert"}},
		{"127.0.0.1:4222", token{"secret", "/t", false}, true, []string{"token: in /t\n"}, []string{"secret"}},
		{"127.0.0.1:4222", token{"secret", "/t", true}, false, []string{"token: in /t\n"}, []string{"secret"}},
		{"0.0.0.0:99", token{"secret", "/a b", false}, true, []string{":99 --nats-token '/a b'\n", "Copy the token file"}, []string{"nats://0.0.0.0"}},
		{"0.0.0.0:99", token{"secret", "", false}, true, []string{"token: from XOFF_NATS_TOKEN\n"}, []string{"--nats-token", "Copy", "secret"}},
	} {
		got := (&options{}).welcome(c.address, c.t, c.terminal)
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: no %q in\n%s", c.t, want, got)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%+v: %q in\n%s", c.t, not, got)
			}
		}
	}
	if got := (&options{certificate: "c"}).welcome("127.0.0.1:1", token{path: "/t"}, false); !strings.Contains(got, "--nats-cert CERT --nats-key KEY --nats-ca CA\n") {
		t.Errorf("no certificates in\n%s", got)
	}
}

// The folder of --dir stays, with the token and the streams; one hub at a time uses it.
func TestServe(t *testing.T) {
	t.Setenv("XOFF_NATS_TOKEN", "")
	o := &options{listen: "0", folder: filepath.Join(t.TempDir(), "hub")}
	for range 2 {
		ctx, stop := context.WithCancel(context.Background())
		ready := make(started)
		done := make(chan error, 1)
		go func() { done <- o.serve(ctx, ready, &bytes.Buffer{}) }()
		select {
		case err := <-done:
			t.Fatal(err)
		case <-ready:
		}
		if err := o.serve(ctx, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "another xoff-hub uses "+o.folder) {
			t.Errorf("a second hub in the same folder: %v", err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"token", "jetstream"} {
		if _, err := os.Stat(filepath.Join(o.folder, name)); err != nil {
			t.Error(err)
		}
	}
}

// started is closed by the first write.
type started chan struct{}

func (s started) Write(p []byte) (int, error) {
	close(s)
	return len(p), nil
}
