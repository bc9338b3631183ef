package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// sbom returns the software bill of materials of a program in CycloneDX format: the modules
// that the linker recorded in it, with their licences. It has neither time nor serial
// number, so that the same program gives the same bytes.
func sbom(name, version string, binary []byte, licences []licence) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, err
	}
	return bomOf(info, name, version, fmt.Sprintf("%x", sha256.Sum256(binary)), licences)
}

func bomOf(info *debug.BuildInfo, name, version, hash string, licences []licence) ([]byte, error) {
	ids := &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}
	program := cyclonedx.Component{
		BOMRef: purl(module, version) + "#cmd/" + name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: version,
		PackageURL: purl(module, version) + "#cmd/" + name, Licenses: ids,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hash}},
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cyclonedx.Component{{
		BOMRef: purl("std", goVersion), Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: goVersion, PackageURL: purl("std", goVersion),
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "BSD-3-Clause"}}},
	}}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		found := licencesOf(m.Path, licences)
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no licence found for module %s", name, m.Path)
		}
		c := cyclonedx.Component{
			BOMRef: purl(m.Path, m.Version), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version),
			Scope: cyclonedx.ScopeRequired, Licenses: &found,
		}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == sha256.Size {
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}} // as in go.sum
		}
		components = append(components, c)
	}
	var refs []string
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// purl returns the package URL of a module.
func purl(module, version string) string { return "pkg:golang/" + module + "@" + version }

// licencesOf returns the different licences of a module's packages.
func licencesOf(module string, all []licence) cyclonedx.Licenses {
	var ids []string
	for _, l := range all {
		if l.name == module || strings.HasPrefix(l.name, module+"/") {
			ids = append(ids, l.id)
		}
	}
	slices.Sort(ids)
	var list cyclonedx.Licenses
	for _, id := range slices.Compact(ids) {
		list = append(list, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return list
}
