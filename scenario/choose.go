package scenario

// Choose returns a scheme of a plug point with its default parameters. The
// error lists what there is.
func Choose(kind, name string) (Choice, error) {
	s, err := findScheme(kind, name)
	if err != nil || s.Params == nil {
		return Choice{Name: s.Name}, err
	}
	return Choice{Name: name, Params: s.Params()}, nil
}
