package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/codegen/hcl2/syntax"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// printPrograms prints a program in each language, as JSON by the language's name. Like GenerateProgram of each host, but it
// needs no plugin with the schema.
func printPrograms(schemaFile, file string, languages []string) error {
	programs := map[string]map[string]string{}
	for _, language := range languages {
		// Bind again, because generators modify the program.
		program, err := bindProgram(schemaFile, file)
		if err != nil {
			return err
		}
		files, diagnostics, err := (&generator{language: language}).generateProgram(program)
		if err != nil {
			return err
		}
		if diagnostics.HasErrors() {
			return fmt.Errorf("%s: %w", language, diagnostics)
		}
		programs[language] = map[string]string{}
		for name, content := range files {
			programs[language][name] = string(content)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(programs)
}

func bindProgram(schemaFile, file string) (*pcl.Program, error) {
	content, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(content, &spec); err != nil {
		return nil, err
	}
	pkg, diagnostics, err := schema.BindSpec(spec, schema.NewNullLoader(), schema.ValidationOptions{})
	if err != nil {
		return nil, err
	}
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}

	source, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	parser := syntax.NewParser()
	if err := parser.ParseFile(source, filepath.Base(file)); err != nil {
		return nil, err
	}
	if parser.Diagnostics.HasErrors() {
		return nil, parser.Diagnostics
	}
	program, diagnostics, err := pcl.BindProgram(parser.Files, onePackage{pkg}, pcl.PreferOutputVersionedInvokes)
	if err != nil {
		return nil, err
	}
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	return program, nil
}

// onePackage loads the only package, under any name.
type onePackage struct{ pkg *schema.Package }

func (one onePackage) LoadPackage(string, *semver.Version) (*schema.Package, error) {
	return one.pkg, nil
}

func (one onePackage) LoadPackageV2(context.Context, *schema.PackageDescriptor) (*schema.Package, error) {
	return one.pkg, nil
}

func (one onePackage) LoadPackageReference(string, *semver.Version) (schema.PackageReference, error) {
	return one.pkg.Reference(), nil
}

func (one onePackage) LoadPackageReferenceV2(
	context.Context, *schema.PackageDescriptor,
) (schema.PackageReference, error) {
	return one.pkg.Reference(), nil
}
