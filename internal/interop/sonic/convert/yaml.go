package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// yaml writes a fabric as a commented scenario, with or without workload.
func (f *fabric) yaml(workload bool) []byte {
	b := &strings.Builder{}
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	line("# Created by xoff import sonic from switch configurations.")
	line("name: %s", f.name)
	f.topology(line)
	line("classes: # a class is a traffic class; its priority group and queue have the same number")
	line("  control: {ids: %s, kind: control}   # the strict queue: ACKs and congestion notifications", ids(f.control))
	line("  lossless: {ids: %s, kind: lossless} # pfc_enable, and a priority group with headroom", ids(f.lossless))
	if len(f.lossy) > 0 {
		line("  lossy: {ids: %s, kind: lossy}       # DSCP_TO_TC_MAP", ids(f.lossy))
	}
	f.switchKeys(line)
	line("hosts:")
	line("  cc: {name: none} # the worst case; see xoff list cc")
	if workload {
		f.workload(line)
	}
	for _, s := range f.assumed {
		line("# Assumed hosts on ports without a neighbour: %s", s)
	}
	if len(f.omitted) > 0 {
		line("# Not in this scenario:")
		for _, s := range f.omitted {
			line("# - %s", s)
		}
	}
	return []byte(b.String())
}

type printer func(format string, args ...any)

func (f *fabric) topology(line printer) {
	var hosts, names []string
	for i := range f.links {
		if f.links[i].b < 0 {
			hosts = append(hosts, f.hostName(&f.links[i]))
		}
	}
	for _, n := range f.switches {
		names = append(names, n.name)
	}
	line("topology:")
	line("  name: custom")
	line("  hosts: [%s] # on ports without a neighbour", strings.Join(hosts, ", "))
	line("  switches: [%s]", strings.Join(names, ", "))
	line("  links: # from DEVICE_NEIGHBOR; rates from PORT; delays from CABLE_LENGTH at 1.98e8 m/s")
	for i := range f.links {
		l := &f.links[i]
		a := f.switches[l.a]
		if l.b < 0 {
			line("    - {ends: [%s, %s], rate: %s, delay: %s} # %s, %d m", f.hostName(l), a.name, l.rate, delay(l.metres), a.ports[l.portA].name, l.metres)
			continue
		}
		z := f.switches[l.b]
		line("    - {ends: [%s, %s], rate: %s, delay: %s} # %s to %s, %d m", a.name, z.name, l.rate, delay(l.metres), a.ports[l.portA].name, z.ports[l.portB].name, l.metres)
	}
}

// switchKeys writes the most common settings, then overrides for the other switches.
func (f *fabric) switchKeys(line printer) {
	type whole struct {
		set  settings
		port portSettings
	}
	of := func(n **node) whole {
		return whole{(*n).set, mostCommon((*n).ports, func(p *port) portSettings { return p.set })}
	}
	most := mostCommon(f.switches, of)
	from := f.switches[slices.IndexFunc(f.switches, func(n *node) bool { return of(&n) == most })]
	line("switch: # %s, chip %s", from.file, from.chip)
	for _, s := range f.keys(&most.set, true) {
		line("  %s", s)
	}
	for _, s := range f.portKeys(&most.port, true) {
		line("  %s", s)
	}
	var list []string
	for _, n := range f.switches {
		own := of(&n)
		if own != most {
			list = append(list, fmt.Sprintf("    - {match: %s, %s} # %s, chip %s", n.name, strings.Join(append(f.keys(&own.set, false), f.portKeys(&own.port, false)...), ", "), n.file, n.chip))
		}
		for i, p := range n.ports {
			if p.set != own.port {
				list = append(list, fmt.Sprintf("    - {match: %s.port%d, %s} # %s", n.name, i, strings.Join(f.portKeys(&p.set, false), ", "), p.name))
			}
		}
	}
	if len(list) > 0 {
		line("  overrides:")
		for _, s := range list {
			line("%s", s)
		}
	}
}

// keys returns the keys of a switch.
func (f *fabric) keys(s *settings, comments bool) []string {
	list := []string{
		fmt.Sprintf("buffer: {size: %s, cell: %s, per_packet: %s, partitions: %d, headroom_pool: %s}", exact(s.size), exact(s.cell), exact(s.perPacket), s.partitions, exact(s.pool)),
		fmt.Sprintf("policy: {name: %s, alpha_lossy: %s, egress_lossless: %s, egress_lossless_limit: %s, egress_lossy: %s}", policyName, power(s.alphaLossy), exact(s.egressLossless), exact(s.egressLimit), exact(s.egressLossy)),
	}
	notes := []string{"shared part, headroom pool (xoff of the pool) and minimums; cell and partitions of the chip", "egress pools; dynamic_th and static_th of queues"}
	if s.watchdog.action == "" {
		list, notes = append(list, "deadlock: {name: none}"), append(notes, "no PFC_WD")
	} else {
		list = append(list, fmt.Sprintf("deadlock: {name: watchdog, action: %s, polling: %dms, detection: %dms, restoration: %dms}", s.watchdog.action, s.watchdog.poll, s.watchdog.detection, s.watchdog.restoration))
		notes = append(notes, "PFC_WD")
	}
	return withComments(list, notes, comments)
}

// portKeys returns the keys of a port.
func (f *fabric) portKeys(s *portSettings, comments bool) []string {
	ecn := "ecn: {name: none}"
	if s.kmax > 0 {
		ecn = fmt.Sprintf("ecn: {name: red, classes: [lossless], kmin: %s, kmax: %s, pmax: %s, per: 0bps}", exact(s.kmin), exact(s.kmax), strconv.FormatFloat(float64(s.pmax)/100, 'g', -1, 64))
	}
	var quanta []string
	for tc, w := range s.weights {
		if w > 0 {
			quanta = append(quanta, fmt.Sprintf("%d: %s", tc, exact(units.Bytes(w)*perWeight)))
		}
	}
	list := []string{
		fmt.Sprintf("flow_control: {name: sonic, headroom: %s, xon: %s, xon_offset: %s, minimum: %s, alpha: %s, borrow: %t}", exact(s.headroom), exact(s.xon), exact(s.offset), exact(s.minimum), power(s.alpha), s.borrow),
		fmt.Sprintf("mtu: %s", exact(s.mtu)),
		fmt.Sprintf("pfc: {processing: %s}", s.processing),
		ecn,
		fmt.Sprintf("scheduler: {name: dwrr, quanta: {%s}}", strings.Join(quanta, ", ")),
	}
	return withComments(list, []string{"xoff, xon, xon_offset, size and dynamic_th of the profile", "mtu in PORT", "reaction time of the peer, as 802.3 allows", "WRED_PROFILE", "weights of SCHEDULER"}, comments)
}

// withComments appends notes to the keys of a list, if comments is true.
func withComments(list, notes []string, comments bool) []string {
	if comments {
		for i := range list {
			list[i] += " # " + notes[i]
		}
	}
	return list
}

// policyName is the policy that supports partitions, pools and an alpha per port.
const policyName = "chip"

// workload writes an incast of twice the largest shared buffer.
func (f *fabric) workload(line printer) {
	hosts, largest := 0, units.Bytes(0)
	for i := range f.links {
		if f.links[i].b < 0 {
			hosts++
		}
	}
	for _, n := range f.switches {
		largest = max(largest, f.shared(n))
	}
	senders := min(16, hosts-1)
	size := max(100*units.KB, 2*largest/units.Bytes(senders)/(100*units.KB)*(100*units.KB))
	line("workload:")
	line("  - {name: incast, generator: incast, senders: %d, size: %s, class: %d} # twice the shared buffer", senders, exact(min(size, 20*units.MB)), f.lossless[0])
	line("run:")
	line("  stop: {when: all_flows_done, at_most: 1s}")
}

// exact formats bytes without rounding.
func exact(b units.Bytes) string { return fmt.Sprintf("%dB", int64(b)) }

// power returns 2^n as a ratio.
func power(n int64) string {
	n = max(-8, min(8, n))
	if n < 0 {
		return fmt.Sprintf("1/%d", 1<<-n)
	}
	return strconv.Itoa(1 << n)
}

func ids(list []int) string {
	var words []string
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return "[" + strings.Join(words, ", ") + "]"
}
