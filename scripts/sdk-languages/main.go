// A Pulumi language host that only generates code, with the generators of Pulumi's own hosts. Started as
// `pulumi-language-generator programs SCHEMA FILE LANGUAGE...`, it prints the program of a file in these languages.
//
// `pulumi package gen-sdk` and `pulumi import` delegate code generation to the host of the language, `pulumi-language-<name>`
// on PATH. The current hosts are not all published as Go modules, but their generators are, in the modules of the CLI and of
// the languages. This program connects the two. Its executable's name selects the language.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	dotnet "github.com/pulumi/pulumi-dotnet/pulumi-language-dotnet/v3/codegen"
	"github.com/pulumi/pulumi-java/pkg/codegen/java"
	yaml "github.com/pulumi/pulumi-yaml/pkg/pulumiyaml/codegen"
	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/hcl2/syntax"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

const prefix = "pulumi-language-"

func main() {
	if len(os.Args) > 3 && os.Args[1] == "programs" {
		if err := printPrograms(os.Args[2], os.Args[3], os.Args[4:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[3], err)
			os.Exit(1)
		}
		return
	}
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	host := &generator{language: strings.TrimPrefix(name, prefix)}
	if err := serve(host); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// serve prints the port, as the CLI expects, and runs until the CLI ends this process.
func serve(host *generator) error {
	handle, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(server, host)
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(handle.Port)
	return <-handle.Done
}

type generator struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	language string
}

func (host *generator) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: version.Version}, nil
}

func (host *generator) GeneratePackage(
	_ context.Context, request *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	loader, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	cached := schema.NewCachedLoader(loader)

	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(request.Schema), &spec); err != nil {
		return nil, err
	}
	pkg, diagnostics, err := schema.BindSpec(spec, cached, schema.ValidationOptions{})
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GeneratePackageResponse{}
	for _, diagnostic := range diagnostics {
		response.Diagnostics = append(response.Diagnostics, plugin.HclDiagnosticToRPCDiagnostic(diagnostic))
	}
	if diagnostics.HasErrors() {
		return response, nil
	}

	files, err := host.generate(pkg, request, cached)
	if err != nil {
		return nil, err
	}
	for name, content := range files {
		file := filepath.Join(request.Directory, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, err
		}
	}
	return response, nil
}

// GenerateProgram writes the program that `pulumi import` prints.
func (host *generator) GenerateProgram(
	_ context.Context, request *pulumirpc.GenerateProgramRequest,
) (*pulumirpc.GenerateProgramResponse, error) {
	loader, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return nil, err
	}
	defer loader.Close()

	parser := syntax.NewParser()
	for path, source := range request.Source {
		if err := parser.ParseFile(strings.NewReader(source), path); err != nil {
			return nil, err
		}
	}
	if parser.Diagnostics.HasErrors() {
		return nil, parser.Diagnostics
	}
	options := []pcl.BindOption{pcl.PreferOutputVersionedInvokes}
	if !request.Strict {
		options = append(options, pcl.NonStrictBindOptions()...)
	}
	program, diagnostics, err := pcl.BindProgram(parser.Files, schema.NewCachedLoader(loader), options...)
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GenerateProgramResponse{}
	if !diagnostics.HasErrors() {
		files, more, err := host.generateProgram(program)
		if err != nil {
			return nil, err
		}
		response.Source = files
		diagnostics = append(diagnostics, more...)
	}
	for _, diagnostic := range diagnostics {
		response.Diagnostics = append(response.Diagnostics, plugin.HclDiagnosticToRPCDiagnostic(diagnostic))
	}
	return response, nil
}

func (host *generator) generateProgram(program *pcl.Program) (map[string][]byte, hcl.Diagnostics, error) {
	switch host.language {
	case "nodejs":
		return nodejs.GenerateProgram(program)
	case "python":
		return python.GenerateProgram(program)
	case "go":
		return golang.GenerateProgram(program)
	case "dotnet":
		return dotnet.GenerateProgram(program)
	case "java":
		return java.GenerateProgram(program)
	case "yaml":
		return yaml.GenerateProgram(program)
	default:
		return nil, nil, fmt.Errorf("there is no generator for %q here", host.language)
	}
}

// generate calls the generator of the language under the name of its host, which the generated files repeat in their headers.
func (host *generator) generate(
	pkg *schema.Package, request *pulumirpc.GeneratePackageRequest, loader schema.ReferenceLoader,
) (map[string][]byte, error) {
	tool := prefix + host.language
	switch host.language {
	case "nodejs":
		return nodejs.GeneratePackage(
			tool, pkg, request.ExtraFiles, request.LocalDependencies, request.Local, loader)
	case "python":
		return python.GeneratePackage(tool, pkg, request.ExtraFiles, loader)
	case "go":
		return golang.GeneratePackage(tool, pkg, request.LocalDependencies)
	case "dotnet":
		// The generator downloads the logo from the URL in the schema, which may not be published yet. Read the same file locally.
		http.DefaultTransport = http.NewFileTransport(http.Dir(filepath.Dir(os.Getenv("SDK_LOGO"))))
		pkg.LogoURL = "file:///" + filepath.Base(os.Getenv("SDK_LOGO"))
		return dotnet.GeneratePackage(tool, pkg, request.ExtraFiles, request.LocalDependencies)
	case "java":
		return java.GeneratePackage(
			tool, pkg, request.ExtraFiles, request.LocalDependencies, request.Local, false)
	default:
		return nil, fmt.Errorf("there is no generator for %q here", host.language)
	}
}
