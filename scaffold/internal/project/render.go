// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
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
	layers    = "templates" // the folder of the layers
	suffix    = ".tmpl"
	partsFile = "parts" + suffix
	common    = "common"
	// code is the common layer of all generators written in Go.
	code = "code"
)

// parameters are the data of the templates.
type parameters struct {
	Options
	// Program is the name of the program, and of the operator's chart.
	Program string
	// Version and Singular name the component's resource, beside GroupName and Resource. In files of the API, Version
	// is the version of the file; elsewhere it is the stored one.
	Version, Singular string
	// Stored reports whether Version is stored.
	Stored bool
	// ImageRepository and ImageTag are the parts of Image.
	ImageRepository, ImageTag string
	// Webhooks are the admission webhooks.
	Webhooks []admission
	// WebhookServer reports whether there are webhooks: for admission, or for conversion between versions.
	WebhookServer bool
	// Capabilities are the specs that the spec of the component may embed.
	Capabilities []capability
	// Suspendable means that the spec of the component has the field presence, AnyNumber that components can exist side
	// by side.
	Suspendable, AnyNumber bool
	// Typed reports whether the dependents are typed resources.
	Typed bool
	// LogrVersion is the version of the logging interface.
	LogrVersion string
	// Contents are the chart, kustomization or code that the operator is built around.
	Contents *Contents
	// ContentsFolder contains the files of the contents; empty if there are none. They come from others, so commands
	// for ./... must not treat Go files there as a part of the project.
	ContentsFolder string
	// Sample is the spec of the sample, as the text after "spec:".
	Sample string
	// ValuesImports are the imports for the types of the values.
	ValuesImports []string
	// DangerousTypes reports whether some numbers are not integers.
	DangerousTypes bool
	// Permissions are all rules of the operator.
	Permissions *Permissions
}

// admission is an admission webhook.
type admission struct{ Kind, Name, Path string }

// Render returns the files of a project with complete options, except generated files.
func Render(options *Options, contents *Contents) (Tree, error) {
	data, err := newParameters(options, contents)
	if err != nil {
		return nil, err
	}
	chosen := []string{common}
	if options.Generator == GeneratorGo || options.Generator == GeneratorResources {
		chosen = append(chosen, code)
	}
	chosen = append(chosen, string(options.Generator))
	if data.WebhookServer {
		chosen = append(chosen, "webhooks")
	}
	if len(options.ServedVersions) > 0 {
		chosen = append(chosen, "conversion")
	}
	if options.License == LicenseApache {
		chosen = append(chosen, "apache")
	}
	parts := template.New("").Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"header": data.header, "markdown": markdown, "yaml": yamlText, "rules": yamlOf, "rightsTable": tableOf,
	})
	for _, layer := range chosen {
		content, err := embedded.ReadFile(path.Join(layers, layer, partsFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not all layers contribute to files of the common one
		}
		if _, parseErr := parts.Parse(string(content)); err != nil || parseErr != nil {
			return nil, fmt.Errorf("reading the parts of layer %s: %w", layer, errors.Join(err, parseErr))
		}
	}
	tree := Tree{}
	for _, layer := range chosen {
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
		Program: options.program(), Version: options.GroupVersion, Stored: true, Singular: strings.ToLower(options.Kind),
		ImageRepository: repository, ImageTag: tag,
		Typed: options.Generator == GeneratorResources, LogrVersion: versions.logr, Contents: contents, Sample: " {}", AnyNumber: contents.Several == AnyNumber,
		ContentsFolder: ContentsFolder(options), Permissions: permissionsOf(options, contents),
	}
	if err := data.setValues(); err != nil {
		return nil, err
	}
	add := func(kind, verb string) {
		segments := []string{verb, strings.ReplaceAll(data.GroupName, ".", "-"), data.Version, data.Singular}
		data.Webhooks = append(data.Webhooks, admission{
			Kind: kind, Name: verb + "." + data.Resource + "." + data.GroupName, Path: "/" + strings.Join(segments, "-"),
		})
	}
	if data.MutatingWebhook {
		add("Mutating", "mutate")
	}
	if data.ValidatingWebhook {
		add("Validating", "validate")
	}
	data.WebhookServer = len(data.Webhooks) > 0 || len(data.ServedVersions) > 0
	return data, nil
}

// setValues sets the fields that depend on the values of a chart, if there is one.
func (p *parameters) setValues() error {
	types := cmp.Or(p.Contents.Types, &values.Types{})
	p.DangerousTypes = types.Numbers
	if len(types.Sample) > 0 {
		sample, err := yaml.Marshal(types.Sample)
		if err != nil {
			return fmt.Errorf("writing the sample: %w", err)
		}
		p.Sample = "\n  " + strings.ReplaceAll(strings.TrimSpace(string(sample)), "\n", "\n  ")
	}
	for _, imported := range types.Imports {
		p.ValuesImports = append(p.ValuesImports, strings.TrimSpace(values.Alias(imported)+" "+strconv.Quote(imported)))
	}
	for _, capability := range capabilities {
		if !slices.ContainsFunc(capability.Fields, func(field string) bool { return slices.Contains(types.Fields, field) }) {
			p.Capabilities = append(p.Capabilities, capability)
			p.Suspendable = p.Suspendable || capability.Type == "PresenceSpec"
		}
	}
	return nil
}

// header returns the header of a source file, with owner and license, if the author has chosen it.
func (p *parameters) header(comment string) string {
	if !p.SPDXHeaders {
		return ""
	}
	return fmt.Sprintf("%s SPDX-FileCopyrightText: %s\n%s SPDX-License-Identifier: %s\n\n", comment, p.Owner, comment, p.License)
}

// versionPart stands for a version in paths. Such a file exists once per version.
const versionPart = "__version__"

// versions returns the data of API templates, for each version.
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
	files, err := fs.Sub(embedded, path.Join(layers, layer))
	if err != nil {
		return fmt.Errorf("reading layer %s: %w", layer, err)
	}
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == partsFile {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("reading template %s of layer %s: %w", name, layer, err)
		}
		versions := []*parameters{data}
		if strings.Contains(name, versionPart) {
			versions = data.versions()
		}
		for _, version := range versions {
			if err := renderFile(tree, parts, name, string(content), version); err != nil {
				return fmt.Errorf("rendering layer %s: %w", layer, err)
			}
		}
		return nil
	})
}

// renderFile adds the rendered file, unless it contains only white space.
func renderFile(tree Tree, parts *template.Template, name, content string, data *parameters) error {
	parsed, err := parts.New(name).Parse(content)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return err
	}
	rendered := out.Bytes()
	if len(bytes.TrimSpace(rendered)) == 0 {
		return nil
	}
	target := strings.NewReplacer(versionPart, data.Version, "__kind__", data.Singular).Replace(strings.TrimSuffix(name, suffix))
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

// embedded contains the templates of scaffolded projects.
//
// Each folder is a layer of the project: common is part of all projects, the others depend on the options. The path of
// a file, without the suffix .tmpl, is its path in the project; __version__ and __kind__ stand for a version of the API
// and the kind in lower case. A path with __version__ yields a file for each version. The content is a Go template with
// the delimiters [[ and ]], because most files contain templates themselves. Files with only white space are left out.
//
// parts.tmpl of a layer defines what files of other layers include. The generators go and resources share the layer
// code.
//
//go:embed all:templates
var embedded embed.FS

// runtimeModule is the module that scaffolded projects depend on.
const runtimeModule = "github.com/component-operator/runtime"

// versions are the versions that the runtime itself is built with. Older ones do not work, because the go command never
// selects an older version than the runtime requires. A test compares them with go.mod.
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

// capability is a spec of package component that the component's spec may embed.
type capability struct {
	// Type is the name of the spec.
	Type string
	// Line describes what it does.
	Line string
	// Fields are the JSON names of its fields.
	Fields []string
	// Embedded reports whether it is on initially: if its fields only control the reconciliation of the component
	// itself.
	Embedded bool
}

// capabilities are all specs that package component offers for this, except the deprecated ones. A test compares them
// with that package.
var capabilities = []capability{
	{
		Type: "PresenceSpec", Fields: []string{"presence"}, Embedded: true,
		Line: "users can suspend a component (its workloads stop), pause it (it shows what would be done), or archive it (its dependents are deleted).",
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
	{Type: "DependencySpec", Fields: []string{"dependsOn"}, Line: "users can name objects that have to be ready first; needs permissions to read them."},
	{Type: "TypeSpec", Fields: []string{"additionalManagedTypes"}, Line: "users can name further types whose instances block the deletion of the component."},
}

// Texts from a chart or kustomization get into files of the project only through the functions below, through packages
// that marshal YAML, or as declarations of package values.

// bare matches texts that need no quotes in YAML unless they would be another type, such as true.
var bare = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9./_-]*$`)

// yamlText returns a text as a YAML scalar. In a template, it also stands for itself and is not evaluated.
func yamlText(text string) string {
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err == nil && parsed == text && bare.MatchString(text) {
		return text
	}
	return strings.ReplaceAll(strconv.Quote(text), "{", `\x7b`)
}

// markup matches the characters that begin a cell, HTML, a link or an escape in Markdown, or an action in templates.
var markup = regexp.MustCompile(`[\\|<\[{]`)

// markdown escapes a text so that it cannot leave its cell, item or line in Markdown, or a Go comment. Backticks stay,
// because they reach no further.
func markdown(text string) string {
	return markup.ReplaceAllString(strings.Join(strings.Fields(text), " "), `\$0`)
}
