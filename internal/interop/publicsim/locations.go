package publicsim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
)

// configKey maps the last word of a scenario key to the configuration key it came from.
// The scenario checks the values; errors are reported at the configuration key.
var configKey = map[string]string{
	"eta": "U_TARGET", "max_stage": "MI_THRESH", "g": "EWMA_GAIN", "fast_recovery": "FAST_RECOVERY_TIMES",
	"rai": "RATE_AI", "rhai": "RATE_HAI", "min_rate": "MIN_RATE",
	"alpha_interval": "ALPHA_RESUME_INTERVAL", "cut_interval": "RATE_DECREASE_INTERVAL", "rise_interval": "RP_TIMER",
	"kmin": "KMIN_MAP", "kmax": "KMAX_MAP", "pmax": "PMAX_MAP",
	"payload": "PACKET_PAYLOAD_SIZE", "size": "BUFFER_SIZE", "every": "L2_ACK_INTERVAL", "at_most": "SIMULATOR_STOP_TIME",
}

// locate moves an error in the scenario to the line of the file that the key came from.
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
	if key := configKey[e.Path[strings.LastIndexByte(e.Path, '.')+1:]]; s.lines[key] > 0 {
		return s.wrong(key, "is invalid: %w", e.Err)
	}
	if strings.HasPrefix(e.Path, "topology") {
		return inputError(s.Topology, 1, 1, e.Err)
	}
	return inputError(s.File, 1, 1, e)
}

// lineOf returns the line of entry i, or 1 if it is unknown.
func lineOf(lines []int, i int) int {
	if i < len(lines) {
		return lines[i]
	}
	return 1
}

// lastLines returns the line numbers of the last count lines that are not empty.
func (t *text) lastLines(count int) []int {
	list := make([]int, 0, count)
	for _, line := range t.lines[len(t.lines)-count:] {
		list = append(list, line[0].line)
	}
	return list
}
