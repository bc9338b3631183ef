package check

import (
	"fmt"

	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scheme/cc"
)

// rareCNPs reports transports whose DCQCN cuts its rate and lets alpha decay much more often than
// CNPs can arrive. The preset hpcc-sim does: it has the constants of the public simulator, in which
// every ACK returns a mark. Only combinations of which the scenario writes a part are
// reported, not the defaults.
func (c *checker) rareCNPs() {
	seen := make(map[string]bool)
	for i := range c.Config.Workload {
		name := c.Config.Workload[i].Transport
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, h := range c.l.OfHosts {
			if c.rareCNP(h.Variant(name)) {
				break // the same keys for other hosts
			}
		}
	}
}

// rareCNP reports one transport, and whether it did.
func (c *checker) rareCNP(h *layout.HostSetting) bool {
	p, ok := h.CC.Params.(*cc.DCQCNParams)
	if !ok || h.CNP.Mode != "interval" || h.CNP.Interval <= max(p.CutInterval, p.AlphaInterval) {
		return false
	}
	at := c.written(h.Name, "cc.preset", "cc.cut_interval", "cc.alpha_interval", "cnp.mode", "cnp.interval")
	if at == "" {
		return false
	}
	c.add(Finding{
		Level: Note, Kind: KindECN, At: location(c.Config, at), Where: []string{at},
		What: fmt.Sprintf("DCQCN cuts the rate every %s and updates alpha every %s, but a flow gets at most one CNP in %s: it slows down much later than these constants intend",
			p.CutInterval, p.AlphaInterval, h.CNP.Interval),
		Fix: "set cnp: {mode: ack}, as in the public simulator whose constants preset hpcc-sim has, or use preset paper",
	})
	return true
}

// written returns the path of the first of these keys that the scenario sets for a transport, or
// for all of them.
func (c *checker) written(transport string, keys ...string) string {
	for _, prefix := range []string{"hosts.transports." + transport + ".", "hosts."} {
		for _, key := range keys {
			if c.Config.Written(prefix + key) {
				return prefix + key
			}
		}
	}
	return ""
}
