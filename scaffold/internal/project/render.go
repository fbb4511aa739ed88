// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/scaffold/internal/values"
)

const (
	suffix    = ".tmpl"
	partsFile = "parts" + suffix
	common    = "common"
	// code is the layer of all generators that are written in Go.
	code = "code"
)

// parameters are what templates see.
type parameters struct {
	Options
	// Program is the name of the program, and of the operator's chart.
	Program string
	// Package is how main.go calls the operator's package.
	Package string
	// Group, Version, Plural and Singular name the component's resource. In files of the API, Version is that of the
	// file; elsewhere it is the one that is stored.
	Group, Version, Plural, Singular string
	// Stored reports whether Version is stored.
	Stored bool
	// ImageRepository and ImageTag are the parts of Image.
	ImageRepository, ImageTag string
	// Module is the Go module.
	Module string
	// Licensed reports whether the project has a license.
	Licensed bool
	// Validating and Mutating report whether there is such a webhook.
	Validating, Mutating bool
	// Webhooks are the admission webhooks.
	Webhooks []admission
	// WebhookServer reports whether there are webhooks: for admission, or for conversion between versions.
	WebhookServer bool
	// Capabilities are the specs that the spec of the component may embed.
	Capabilities []capability
	// Typed reports whether the dependents are typed resources.
	Typed bool
	// LogrVersion is the version of the logging interface.
	LogrVersion string
	// Contents are what the operator is built around.
	Contents *Contents
	// ContentsFolder has the files of the contents; empty if there are none. They come from others: no command that
	// works on ./... may take Go files there for a part of the project.
	ContentsFolder string
	// Sample is the spec of the sample, as it follows "spec:".
	Sample string
	// ValuesImports are the imports of the types of the values.
	ValuesImports []string
	// DangerousTypes reports whether there are numbers that are no integers.
	DangerousTypes bool
	// Overlaps are capabilities whose fields are values of the chart.
	Overlaps []string
	// ClusterRules and NamespaceRules are the rules of the operator's roles, as YAML.
	ClusterRules, NamespaceRules string
	// RightsSwitches are values of the operator's chart that give it rights.
	RightsSwitches []Switch
	// RightsTable lists the same rules with their reasons, as Markdown.
	RightsTable string
	// RightsNotes say what could not be known.
	RightsNotes []string
}

// admission is an admission webhook.
type admission struct {
	Kind, Name, Path, Operations    string
	Group, Version, Plural, Program string
}

// Render returns the files of a project whose options are complete. Generated files are not among them.
func Render(options *Options, contents *Contents) (Tree, error) {
	data, err := newParameters(options, contents)
	if err != nil {
		return nil, err
	}
	layers := []string{common}
	if options.Generator == GeneratorGo || options.Generator == GeneratorResources {
		layers = append(layers, code)
	}
	layers = append(layers, string(options.Generator))
	if data.WebhookServer {
		layers = append(layers, "webhooks")
	}
	if len(options.ServedVersions) > 0 {
		layers = append(layers, "conversion")
	}
	if options.License == LicenseApache {
		layers = append(layers, "apache")
	}
	parts := template.New("").Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{"header": data.header, "markdown": markdown})
	for _, layer := range layers[1:] {
		if err := parseParts(parts, layer); err != nil {
			return nil, err
		}
	}
	tree := Tree{}
	for _, layer := range layers {
		if err := renderLayer(tree, parts, layer, data); err != nil {
			return nil, err
		}
	}
	for name, content := range contents.Files {
		tree[path.Join(data.ContentsFolder, name)] = content
	}
	if err := addRecord(options, tree); err != nil {
		return nil, err
	}
	return tree, nil
}

func newParameters(options *Options, contents *Contents) (*parameters, error) {
	repository, tag, err := splitImage(options.Image)
	if err != nil {
		return nil, fmt.Errorf("parsing the name of the image: %w", err)
	}
	data := &parameters{
		Options: *options,
		Program: options.program(), Package: strings.ToLower(options.Kind), Module: options.GoModule,
		Group: options.GroupName, Version: options.GroupVersion, Stored: true, Plural: options.Resource, Singular: strings.ToLower(options.Kind),
		ImageRepository: repository, ImageTag: tag,
		Licensed: options.License != LicenseNone, Validating: options.ValidatingWebhook, Mutating: options.MutatingWebhook,
		Typed: options.Generator == GeneratorResources, LogrVersion: versions.logr, Contents: contents, Sample: " {}",
		ContentsFolder: ContentsFolder(options),
	}
	data.setValues()
	permissions := permissionsOf(options, contents)
	data.ClusterRules, data.NamespaceRules = yamlOf(permissions.Cluster), yamlOf(permissions.Namespace)
	data.RightsSwitches = permissions.Switches
	data.RightsTable, data.RightsNotes = tableOf(permissions), permissions.Notes
	add := func(kind, verb string) {
		segments := []string{verb, strings.ReplaceAll(data.Group, ".", "-"), data.Version, data.Singular}
		data.Webhooks = append(data.Webhooks, admission{
			Kind: kind, Name: verb + "." + data.Plural + "." + data.Group, Path: "/" + strings.Join(segments, "-"), Operations: "CREATE, UPDATE",
			Group: data.Group, Version: data.Version, Plural: data.Plural, Program: data.Program,
		})
	}
	if data.Mutating {
		add("Mutating", "mutate")
	}
	if data.Validating {
		add("Validating", "validate")
	}
	data.WebhookServer = len(data.Webhooks) > 0 || len(data.ServedVersions) > 0
	return data, nil
}

// setValues sets what depends on the values of a chart.
func (p *parameters) setValues() {
	types := p.Contents.Types
	if types == nil {
		p.Capabilities = capabilitiesOf(p.Generator)
		return
	}
	p.DangerousTypes = types.Numbers
	if sample := strings.TrimSpace(string(types.Sample)); sample != "{}" && sample != "" {
		p.Sample = "\n  " + strings.ReplaceAll(sample, "\n", "\n  ")
	}
	for _, imported := range types.Imports {
		p.ValuesImports = append(p.ValuesImports, strings.TrimSpace(values.Alias(imported)+" "+strconv.Quote(imported)))
	}
	for _, capability := range capabilities {
		if slices.ContainsFunc(capability.Fields, func(field string) bool { return slices.Contains(types.Fields, field) }) {
			p.Overlaps = append(p.Overlaps, capability.Type)
			continue
		}
		p.Capabilities = append(p.Capabilities, capability)
	}
}

// header returns the comment that a source file begins with: owner and license, if the author wants that.
func (p *parameters) header(comment string) string {
	if !p.SPDXHeaders {
		return ""
	}
	return fmt.Sprintf("%s SPDX-FileCopyrightText: %s\n%s SPDX-License-Identifier: %s\n\n", comment, p.Owner, comment, p.License)
}

func parseParts(parts *template.Template, layer string) error {
	content, err := fs.ReadFile(layersFS(), path.Join(layer, partsFile))
	if err != nil {
		return nil //nolint:nilerr // not all layers contribute to files of the common one
	}
	if _, err := parts.Parse(string(content)); err != nil {
		return fmt.Errorf("parsing the parts of layer %s: %w", layer, err)
	}
	return nil
}

// versionPart stands for a version in paths. Such a file exists for each version.
const versionPart = "__version__"

// versions returns what templates of the API see, for each version.
func (p *parameters) versions() []*parameters {
	all := []*parameters{p}
	for _, version := range p.ServedVersions {
		served := *p
		served.Version, served.Stored = version, false
		all = append(all, &served)
	}
	return all
}

func renderLayer(tree Tree, parts *template.Template, layer string, data *parameters) error {
	return fs.WalkDir(layersFS(), layer, func(source string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == partsFile {
			return err
		}
		content, err := fs.ReadFile(layersFS(), source)
		if err != nil {
			return fmt.Errorf("reading template %s: %w", source, err)
		}
		if !strings.Contains(source, versionPart) {
			return renderFile(tree, parts, source, content, data)
		}
		for _, version := range data.versions() {
			if err := renderFile(tree, parts, source, content, version); err != nil {
				return err
			}
		}
		return nil
	})
}

// renderFile adds the file that a template makes, unless that consists of white space.
func renderFile(tree Tree, parts *template.Template, source string, content []byte, data *parameters) error {
	rendered, err := execute(parts, source, content, data)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(rendered)) == 0 {
		return nil
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(source, suffix), "/") // the first element is the layer
	target := strings.NewReplacer(versionPart, data.Version, "__kind__", data.Singular).Replace(name)
	if _, exists := tree[target]; exists {
		return fmt.Errorf("two layers have a file %s", target)
	}
	if path.Ext(target) == ".go" {
		if rendered, err = format.Source(rendered); err != nil {
			return fmt.Errorf("formatting %s: %w", target, err)
		}
	}
	tree[target] = rendered
	return nil
}

func execute(parts *template.Template, source string, content []byte, data *parameters) ([]byte, error) {
	parsed, err := parts.Clone()
	if err != nil {
		return nil, fmt.Errorf("preparing template %s: %w", source, err)
	}
	if parsed, err = parsed.New(source).Parse(string(content)); err != nil {
		return nil, fmt.Errorf("parsing template %s: %w", source, err)
	}
	var rendered bytes.Buffer
	if err := parsed.Execute(&rendered, data); err != nil {
		return nil, fmt.Errorf("rendering template %s: %w", source, err)
	}
	return rendered.Bytes(), nil
}

// embedded are what scaffolded projects are made of.
//
// Each folder is a layer of the project: common is part of all projects, the others depend on the options. A file's path,
// without the suffix .tmpl, is its path in the project; __version__ and __kind__ stand for a version of the API and the
// kind in lower case. A path with __version__ makes a file for each version. The content is a Go template with the
// delimiters [[ and ]], because most files have templates of their own. A file that consists of white space only is left
// out.
//
// parts.tmpl of a layer defines what files of other layers include. The layer code is what the generators go and resources
// share.
//
//go:embed all:templates
var embedded embed.FS

// layersFS returns the layers.
func layersFS() fs.FS {
	layers, _ := fs.Sub(embedded, "templates") // it fails for invalid paths only
	return layers
}

// runtimeModule is the module that scaffolded projects build on.
const runtimeModule = "github.com/component-operator/runtime"

// versions are those that the runtime itself is built with: older ones do not work, because the go command never
// selects a version that is older than what the runtime requires. A test compares them with go.mod.
var versions = struct {
	golang, kubernetes, controllerRuntime, logr string
	controllerTools                             string
}{
	golang:            "1.26.0",
	kubernetes:        "v0.37.2",
	controllerRuntime: "v0.25.2",
	logr:              "v1.4.4",
	controllerTools:   "v0.23.0",
}

// capability is a spec of package component that the spec of a component may embed.
type capability struct {
	// Type is the name of the spec.
	Type string
	// Line says what it does.
	Line string
	// TypedLine says what it does if the dependents are typed resources. Defaults to Line.
	TypedLine string
	// Fields are the JSON names of its fields.
	Fields []string
	// Embedded reports whether it is on from the start. It is if its fields steer nothing but the reconciliation of the
	// component itself.
	Embedded bool
}

// capabilities are all that component offers. A test compares them with that package.
var capabilities = []capability{
	{
		Type: "SuspensionSpec", Fields: []string{"suspend"}, Embedded: true, Line: "users can suspend the component.",
		TypedLine: "users can suspend a component: its dependents are scaled down.",
	},
	{
		Type: "PresenceSpec", Fields: []string{"presence"},
		Line:      "users can suspend a component (its dependents are left alone, and run on), pause it (it shows what would be done), or archive it (its dependents are deleted).",
		TypedLine: "users can suspend a component (its dependents are scaled down), pause it (it shows what would be done), or archive it (its dependents are deleted).",
	},
	{Type: "RequeueSpec", Fields: []string{"requeueInterval"}, Embedded: true, Line: "users can choose how often a ready component is reconciled without an event."},
	{Type: "RetrySpec", Fields: []string{"retryInterval"}, Embedded: true, Line: "users can choose how long to wait before a retry."},
	{Type: "TimeoutSpec", Fields: []string{"timeout"}, Embedded: true, Line: "users can choose the time within which the component should become ready."},
	{Type: "ReapplySpec", Fields: []string{"reapplyInterval"}, Embedded: true, Line: "users can choose how often dependents are applied again without a change."},
	{
		Type: "PlacementSpec", Fields: []string{"namespace", "name"},
		Line: "users can choose the namespace and the name for the dependents; needs rbac.namespaces in chart/values.yaml.",
	},
	{Type: "ClientSpec", Fields: []string{"kubeConfig"}, Line: "users can deploy to another cluster; needs rbac.references in chart/values.yaml."},
	{
		Type: "ImpersonationSpec", Fields: []string{"serviceAccountName"},
		Line: "users can have the dependents written with the permissions of a ServiceAccount; needs rbac.impersonation in chart/values.yaml.",
	},
	{
		Type: "PolicySpec", Fields: []string{"adoptionPolicy", "updatePolicy", "deletePolicy", "missingNamespacesPolicy"},
		Line: "users can override the policies of the operator for adoption, updates, deletion and missing namespaces.",
	},
	{Type: "ReconcileSpec", Fields: []string{"reconcilePolicy"}, Line: "users can choose which changes apply the dependents again."},
	{Type: "DriftSpec", Fields: []string{"driftPolicy"}, Line: "users can choose what happens if other clients change dependents."},
	{Type: "DeletionSpec", Fields: []string{"maxDeletions"}, Line: "users can choose how many dependents may be deleted at once without approval."},
	{Type: "TypeSpec", Fields: []string{"additionalManagedTypes"}, Line: "users can name further types whose instances block the deletion of the component."},
}

// capabilitiesOf returns all capabilities, as they are with a kind of generator.
func capabilitiesOf(generator GeneratorKind) []capability {
	result := slices.Clone(capabilities)
	for i, capability := range result {
		if generator == GeneratorResources && capability.TypedLine != "" {
			result[i].Line = capability.TypedLine
		}
	}
	return result
}

// What a chart or kustomization says gets into files of the project through the functions below, through packages that
// marshal YAML, or as declarations of package values.

// bare are texts that need no quotes in YAML unless they are something else than text, such as true.
var bare = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9./_-]*$`)

// yamlText returns a text as a scalar of YAML. In a template, it is that text, too, and nothing that is evaluated.
func yamlText(text string) string {
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err == nil && parsed == text && bare.MatchString(text) {
		return text
	}
	return strings.ReplaceAll(strconv.Quote(text), "{", `\x7b`)
}

// markup are the characters with which Markdown begins a cell, HTML, a link or an escape, and templates an action.
var markup = regexp.MustCompile(`[\\|<\[{]`)

// markdown returns a text so that it stays where it is put in Markdown, or in a comment of Go: in its cell, item or
// line. Backticks stay: they reach no further.
func markdown(text string) string {
	return markup.ReplaceAllString(strings.Join(strings.Fields(text), " "), `\$0`)
}
