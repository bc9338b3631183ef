package publicsim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
)

// writtenAs says which key of a configuration became which of the scenario, by the
// last word of the latter. Bounds of values that both have are those of scenarios:
// what is wrong with a value is found there and shown here.
var writtenAs = map[string]string{
	"eta": "U_TARGET", "max_stage": "MI_THRESH", "g": "EWMA_GAIN", "fast_recovery": "FAST_RECOVERY_TIMES",
	"rai": "RATE_AI", "rhai": "RATE_HAI", "min_rate": "MIN_RATE",
	"alpha_interval": "ALPHA_RESUME_INTERVAL", "cut_interval": "RATE_DECREASE_INTERVAL", "rise_interval": "RP_TIMER",
	"kmin": "KMIN_MAP", "kmax": "KMAX_MAP", "pmax": "PMAX_MAP",
	"payload": "PACKET_PAYLOAD_SIZE", "size": "BUFFER_SIZE", "every": "L2_ACK_INTERVAL", "at_most": "SIMULATOR_STOP_TIME",
}

// locate ties an error of the scenario to the line of the file from which the key
// comes.
func (in *Input) locate(err error) error {
	var e *yaml.Error
	if !errors.As(err, &e) {
		return err
	}
	s := in.Settings
	var i int
	if _, err := fmt.Sscanf(e.Path, "topology.links[%d]", &i); err == nil {
		return inputError(s.Topology, lineOf(in.linkLines, i), 1, e.Err)
	}
	if _, err := fmt.Sscanf(e.Path, "workload[0].flows[%d]", &i); err == nil {
		return inputError(s.Flows, lineOf(in.flowLines, i), 1, e.Err)
	}
	if key := writtenAs[e.Path[strings.LastIndexByte(e.Path, '.')+1:]]; s.lines[key] > 0 {
		return s.wrong(key, "is not allowed: %w", e.Err)
	}
	if strings.HasPrefix(e.Path, "topology") {
		return inputError(s.Topology, 1, 1, e.Err)
	}
	return inputError(s.File, 1, 1, e)
}

// lineOf returns where an entry stands: on the first line if nobody knows.
func lineOf(lines []int, i int) int {
	if i < len(lines) {
		return lines[i]
	}
	return 1
}

// last returns the numbers of the last lines of a file that are not empty.
func (t *text) last(count int) []int {
	list := make([]int, 0, count)
	for _, line := range t.lines[len(t.lines)-count:] {
		list = append(list, line[0].line)
	}
	return list
}
