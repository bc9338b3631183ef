package sim_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
)

// overridden records the effects of a case's overrides that its checks depend on.
type overridden struct {
	none       bool       // some port has no flow control
	ordered    bool       // some port sends a PFC frame for every change
	processing units.Time // longest
	payload    units.Bytes
	mtu        units.Bytes
	slow       units.Rate // slowest host; 0: none
	controlled bool       // some host has congestion control
	buffer     units.Bytes
}

// overrides gives some switches, ports and hosts different settings. It has its own random
// stream, so that the other parts of a case do not change.
func (d *drawer) overrides(index int) {
	own := &drawer{Rand: rand.New(rand.NewPCG(20240608, uint64(index))), cfg: d.cfg}
	if d.flood || own.chance(0.4) {
		return
	}
	switches, ports := []string{"*", "switch?"}, []string{"*.port0", "switch0.to-host[12]", "*.to-host0"}
	if d.leaves {
		switches = []string{"*", "leaf*", "leaf0", "spine*", "spine0"}
		ports = []string{"leaf*.port0", "leaf0.port[12]", "*.to-host0", "leaf*.to-spine0", "spine0.to-leaf1", "*.to-leaf*"}
	}
	for range own.between(1, 4) {
		s := &d.cfg.Switch
		if own.chance(0.5) {
			s.Overrides = append(s.Overrides, patch(pick(own, ports...), d.portKeys(own)))
		} else {
			s.Overrides = append(s.Overrides, patch(pick(own, switches...), d.switchKeys(own)))
		}
	}
	for range own.IntN(3) {
		h := &d.cfg.Hosts
		h.Overrides = append(h.Overrides, patch(pick(own, "*", "host0", "host[12]", "host*"), d.hostKeys(own)))
	}
	// Long enough for a refresh behind the largest frame that overrides permit.
	d.cfg.Switch.PFC.Quanta = max(d.cfg.Switch.PFC.Quanta, 300)
}

func patch(match, keys string) scenario.Override {
	return scenario.Override{Match: match, Keys: parsePatch(keys)}
}

// parsePatch parses keys such as `buffer: {size: 32MiB}`, with or without braces.
func parsePatch(keys string) scenario.Patch {
	if keys[0] != '{' {
		keys = "{" + keys + "}"
	}
	c, err := scenario.Parse("patch", []byte("hosts: {transports: {x: "+keys+"}}"))
	if err != nil {
		panic(err)
	}
	return c.Hosts.Transports["x"].Keys
}

func (d *drawer) portKeys(own *drawer) string {
	switch own.IntN(5) {
	case 0:
		hold := pick(own, "timed", "indefinite")
		coalesce := own.chance(0.7)
		d.over.ordered = d.over.ordered || !coalesce
		return fmt.Sprintf("pfc: {hold: %s, quanta: %d, coalesce: %t}", hold, pick(own, 65535, 1000, 300), coalesce)
	case 1:
		t := units.Time(own.between(1, 400_000))
		d.over.processing = max(d.over.processing, t)
		return fmt.Sprintf("pfc: {processing: %s}", t)
	case 2:
		if own.chance(0.3) {
			d.over.none = true
			return "flow_control: {name: none}"
		}
		return fmt.Sprintf("flow_control: {name: pfc, headroom: exact, delta: %dB}", own.between(0, 5000))
	case 3:
		return pick(own, "ecn: {name: none}", "ecn: {name: step, k: 8KB}", "ecn: {name: red, kmin: 4KB, kmax: 50KB, pmax: 0.3}", "ecn: {classes: [rdma]}")
	default:
		if own.chance(0.3) {
			d.over.mtu = 9216
			return "mtu: 9216B"
		}
		if d.lossy {
			return pick(own, "scheduler: {strict: [control], rr: [rdma, tcp]}", "scheduler: {strict: [control, tcp, rdma]}")
		}
		return pick(own, "scheduler: {strict: [control], dwrr: [rdma], quantum: 900B}", "scheduler: {strict: [control, rdma]}")
	}
}

func (d *drawer) switchKeys(own *drawer) string {
	switch own.IntN(6) {
	case 0:
		return pick(own, "policy: {name: dt, alpha: 1/4}", "policy: {name: dt, alpha: 4, alpha_lossy: 1/2}", "policy: {name: static, limit: 30KB}")
	case 1:
		return fmt.Sprintf("buffer: {private_per_queue: %dB}", own.between(0, 4000))
	case 2:
		return fmt.Sprintf("buffer: {cell: %dB}", pick(own, 1, 80, 208))
	case 3:
		return fmt.Sprintf("latency: %dns", own.between(0, 900))
	case 4:
		return "ecn: {name: step, k: 10KB, at: enqueue}"
	default:
		return d.portKeys(own)
	}
}

func (d *drawer) hostKeys(own *drawer) string {
	switch own.IntN(5) {
	case 0, 1:
		payload := pick[units.Bytes](own, 200, 777, 1452, 4096, 8000)
		d.over.payload = max(d.over.payload, payload)
		return fmt.Sprintf("{payload: %dB, header: %dB}", int64(payload), pick(own, 48, 62))
	case 2:
		return fmt.Sprintf("ack: {every: %d, size: %dB}", pick(own, 1, 2, 8), pick(own, 60, 84, 300))
	case 3:
		d.over.controlled = true
		return pick(own, "cc: {name: dcqcn, preset: paper}", "cc: {name: fixed, rate: 5Gbps}", "{cc: {name: dcqcn}, cnp: {mode: ack}}")
	default:
		rate := d.tree.HostLink.Rate * units.Rate(own.between(20, 95)) / 100
		if d.over.slow == 0 || rate < d.over.slow {
			d.over.slow = rate
		}
		return fmt.Sprintf("receive: {rate: %dMbps, xoff: %dKB, buffer: 16MB}", int64(rate/units.Mbps), own.between(2, 40))
	}
}

// enlarge gives some switches a larger buffer.
func (d *drawer) enlarge(index int) {
	own := &drawer{Rand: rand.New(rand.NewPCG(20240609, uint64(index)))}
	if d.flood || len(d.cfg.Switch.Overrides) == 0 || own.chance(0.5) {
		return
	}
	d.over.buffer = d.cfg.Switch.Buffer.Size * units.Bytes(own.between(10, 30)) / 10
	d.cfg.Switch.Overrides = append(d.cfg.Switch.Overrides, patch(pick(own, "*0", "s*"), fmt.Sprintf("buffer: {size: %dB}", int64(d.over.buffer))))
}
