package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual returns a man page for each visible command.
func manual(root *cobra.Command, version string) []file {
	var files []file
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		files = append(files, file{"man/man1/" + pageName(cmd) + ".1", []byte(manPage(cmd, version)), false})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	return files
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command as troff.
func manPage(cmd *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"xoff %s\" \"xoff\"\n", escape(strings.ToUpper(pageName(cmd))), escape(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(pageName(cmd)), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escape(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(paragraphs(long))
	options(&b, cmd.Flags())
	if cmd.CommandPath() == "xoff" {
		b.WriteString(exitStatus)
	}
	seeAlso(&b, cmd)
	return b.String()
}

const exitStatus = `.SH EXIT STATUS
.TP
0
success
.TP
1
failure, or a problem found by a check
.TP
2
invalid input
.TP
3
lossless frames dropped under a scheme that promises not to, or a broken invariant
.TP
130
interrupted; partial results are kept and marked
`

// paragraphs returns text as troff; indented lines are not filled.
func paragraphs(text string) string {
	var b strings.Builder
	plain := false // within indented lines
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != plain && line != "" {
			plain = indented
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n"}[plain])
		}
		if line == "" {
			line = ".PP"
		} else {
			line = escape(line)
		}
		b.WriteString(line + "\n")
	}
	if plain {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// perMachine lists flags whose default depends on the machine: a page must not show the
// value of the machine that built it.
var perMachine = map[string]bool{"workers": true}

func options(b *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH OPTIONS\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", escape(name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", escape(kind))
		}
		fmt.Fprintf(b, "\n%s", escape(usage))
		switch {
		case perMachine[f.Name] && f.DefValue != "1":
			b.WriteString(" (default: the number of cores)")
		case f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]":
			fmt.Fprintf(b, " (default %s)", escape(f.DefValue))
		}
		b.WriteString("\n")
	})
}

func seeAlso(b *strings.Builder, cmd *cobra.Command) {
	var list []string
	if cmd.HasParent() {
		list = append(list, pageName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			list = append(list, pageName(c))
		}
	}
	if len(list) == 0 {
		list = []string{"xoff"}
	}
	for i, name := range list {
		list[i] = "\\fB" + escape(name) + "\\fR(1)"
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(list, ", "))
}

// escape returns text in which nothing is a troff request.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
