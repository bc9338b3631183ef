package scenario

// Validate checks a scenario beyond what decoding can: ranges, names that refer
// to each other, what fits into what.
func Validate(c *Config) error {
	return nil
}
