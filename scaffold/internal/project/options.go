// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/distribution/reference"
	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// GeneratorKind is the kind of generator that an operator uses.
type GeneratorKind string

// Kinds of generators.
const (
	// GeneratorGo is a function in Go.
	GeneratorGo GeneratorKind = "go"
	// GeneratorResources is a function in Go that returns typed resources.
	GeneratorResources GeneratorKind = "resources"
	// GeneratorHelm renders a chart.
	GeneratorHelm GeneratorKind = "helm"
	// GeneratorKustomize builds a kustomization.
	GeneratorKustomize GeneratorKind = "kustomize"
)

// License is the license of the project.
type License string

// Licenses.
const (
	// LicenseNone leaves the choice to the author.
	LicenseNone License = "none"
	// LicenseApache is version 2.0 of the Apache License.
	LicenseApache License = "Apache-2.0"
)

// Options are the choices of an operator's author. They are recorded in the project. The comments contain the flags and
// the defaults.
type Options struct {
	// GroupName is the API group of the component (--group-name). Required.
	GroupName string `json:"groupName"`
	// GroupVersion is the version of the API (--group-version). Defaults to v1alpha1.
	GroupVersion string `json:"groupVersion"`
	// ServedVersions are further versions of the API that users may use (--served-version). The operator converts
	// between them and GroupVersion, the version that it uses internally and that is stored. Defaults to none.
	ServedVersions []string `json:"servedVersions,omitempty"`
	// Kind is the kind of the component (--kind). Required.
	Kind string `json:"kind"`
	// Resource is the plural name in URLs (--resource). Defaults to the plural of the kind in lower case.
	Resource string `json:"resource"`
	// OperatorName identifies the operator in clusters (--operator-name). Required.
	OperatorName string `json:"operatorName"`
	// GoModule is the path of the Go module (--go-module). Required.
	GoModule string `json:"goModule"`
	// GoVersion is the version of Go that the project is built with (--go-version). Defaults to that of the runtime.
	GoVersion string `json:"goVersion"`
	// KubernetesVersion is the version of the Kubernetes libraries (--kubernetes-version). Defaults to that of the
	// runtime.
	KubernetesVersion string `json:"kubernetesVersion"`
	// ControllerRuntimeVersion is the version of controller-runtime (--controller-runtime-version). Defaults to that of
	// the runtime.
	ControllerRuntimeVersion string `json:"controllerRuntimeVersion"`
	// ControllerToolsVersion is the version of controller-gen (--controller-tools-version). Defaults to that of the
	// runtime.
	ControllerToolsVersion string `json:"controllerToolsVersion"`
	// Image is the name of the operator's image (--image). Defaults to the name of the program, with the tag latest.
	Image string `json:"image"`
	// Owner is the holder of the copyright (--owner). Defaults to "The AUTHORS of the program".
	Owner string `json:"owner"`
	// License is the license of the project (--license). Defaults to none.
	License License `json:"license"`
	// SPDXHeaders begins each source file with owner and license (--spdx-license-headers). Needs a license.
	SPDXHeaders bool `json:"spdxLicenseHeaders"`
	// Generator determines what renders the dependents (--generator). Defaults to helm with a chart, to kustomize with
	// a kustomization, and otherwise to go.
	Generator GeneratorKind `json:"generator"`
	// Chart is the source of the chart (--chart). Required with the generator helm.
	Chart string `json:"chart,omitempty"`
	// HelmOperator means that the operator takes the live objects of a helm operator over (--from-helm-operator).
	HelmOperator bool `json:"helmOperator,omitempty"`
	// SetString are texts that win over values of components, in the syntax of Helm's flag --set-string. They may
	// contain variables of the environment.
	SetString []string `json:"setString,omitempty"`
	// Environment are these variables, with their defaults.
	Environment map[string]string `json:"environment,omitempty"`
	// Kustomization is the source of the kustomization (--kustomization). Required with the generator kustomize.
	Kustomization string `json:"kustomization,omitempty"`
	// ValidatingWebhook adds a validating webhook (--with-validating-webhook).
	ValidatingWebhook bool `json:"validatingWebhook"`
	// MutatingWebhook adds a mutating webhook (--with-mutating-webhook).
	MutatingWebhook bool `json:"mutatingWebhook"`
	// RuntimeVersion is the version of the runtime (--runtime-version). Defaults to that of the scaffolder.
	RuntimeVersion string `json:"runtimeVersion,omitempty"`
	// RuntimePath is a checkout of the runtime to use instead of a version, relative to the project (--runtime-path).
	RuntimePath string `json:"runtimePath,omitempty"`
}

// versionForm describes the form of versions.
const versionForm = "must be a version such as v1, v1beta1 or v1alpha1"

var (
	versionPattern = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindPattern    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	goPattern      = regexp.MustCompile(`^1\.[0-9]+(\.[0-9]+)?$`)
)

// takenKinds are exported names of the API package, which a kind must not have.
var takenKinds = []string{"GroupVersion", "AddToScheme"}

// Complete sets the defaults, and checks all options. The error has one line for each problem, with the flag, its value
// and what is allowed.
func (o *Options) Complete() error {
	o.setDefaults()
	var problems []error
	refuse := func(flag, value, allowed string) {
		problems = append(problems, fmt.Errorf("--%s: invalid value %q: %s", flag, value, allowed))
	}
	check := func(flag, value string, found []string) {
		if len(found) > 0 {
			refuse(flag, value, strings.Join(found, "; "))
		}
	}
	for _, row := range o.Required() {
		if *row.Value == "" {
			problems = append(problems, fmt.Errorf("--%s: is required", row.Flag))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for _, row := range o.Required() {
		check(row.Flag, *row.Value, row.Problems(*row.Value))
	}
	if !versionPattern.MatchString(o.GroupVersion) {
		refuse("group-version", o.GroupVersion, versionForm)
	}
	o.checkServedVersions(refuse)
	check("resource", o.Resource, validation.IsDNS1035Label(o.Resource))
	if _, _, err := splitImage(o.Image); err != nil {
		refuse("image", o.Image, "must be the name of an image, with a tag or without: "+err.Error())
	}
	if strings.ContainsAny(o.Owner, "\r\n") {
		refuse("owner", o.Owner, "must be a single line")
	}
	o.checkChoices(refuse)
	o.checkVersions(refuse)
	return errors.Join(problems...)
}

func (o *Options) setDefaults() {
	o.GroupVersion = cmp.Or(o.GroupVersion, "v1alpha1")
	if o.Resource == "" && o.Kind != "" {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: o.Kind})
		o.Resource = plural.Resource
	}
	for _, row := range o.requirements() {
		*row.version = cmp.Or(*row.version, row.least)
	}
	o.Image = cmp.Or(o.Image, o.program()+":latest")
	o.Owner = cmp.Or(o.Owner, "The "+o.program()+" authors")
	o.License = cmp.Or(o.License, LicenseNone)
	switch {
	case o.Generator != "":
	case o.Chart != "":
		o.Generator = GeneratorHelm
	case o.Kustomization != "":
		o.Generator = GeneratorKustomize
	default:
		o.Generator = GeneratorGo
	}
}

// requirement is a version that the author may choose.
type requirement struct {
	flag    string
	version *string
	// least is the version that the runtime is built with. It is the default.
	least string
}

func (o *Options) requirements() []requirement {
	return []requirement{
		{"go-version", &o.GoVersion, versions.golang},
		{"kubernetes-version", &o.KubernetesVersion, versions.kubernetes},
		{"controller-runtime-version", &o.ControllerRuntimeVersion, versions.controllerRuntime},
		{"controller-tools-version", &o.ControllerToolsVersion, versions.controllerTools},
	}
}

// RaiseVersions raises versions that no longer work with the runtime. It is for updates of projects.
func (o *Options) RaiseVersions() {
	for _, row := range o.requirements() {
		if olderThan(*row.version, row.least) {
			*row.version = row.least
		}
	}
}

// Required is an option without a default.
type Required struct {
	// Flag is the name of its flag, Text describes the option.
	Flag, Text string
	Value      *string
	// Problems returns the problems of a value.
	Problems func(value string) []string
	// Suggest returns a value that follows from the earlier options; nil if there is none.
	Suggest func() string
}

// Required returns the options without a default.
func (o *Options) Required() []Required {
	suggestName := func() string { return strings.ToLower(o.Kind) + "." + o.GroupName }
	return []Required{
		{"group-name", "API group of the component, such as shop.example.org", &o.GroupName, domainProblems("shop.example.org"), nil},
		{"kind", "Kind of the component, such as WebShop", &o.Kind, kindProblems, nil},
		// The name becomes the prefix of annotations and labels, and a finalizer.
		{"operator-name", "Name that identifies the operator in clusters", &o.OperatorName, domainProblems("webshop.shop.example.org"), suggestName},
		{"go-module", "Path of the Go module, such as example.org/webshop-operator", &o.GoModule, moduleProblems, nil},
	}
}

// splitImage returns the repository and the tag of an image. The tag defaults to latest.
func splitImage(image string) (repository, tag string, err error) {
	parsed, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", "", err
	}
	if _, digested := parsed.(reference.Digested); digested {
		return "", "", errors.New("a digest is of no use before the image is built")
	}
	if tagged, ok := parsed.(reference.Tagged); ok {
		return strings.TrimSuffix(image, ":"+tagged.Tag()), tagged.Tag(), nil
	}
	return image, "latest", nil
}

// ValuesFile is the path of the types of a chart's values in the project.
func (o *Options) ValuesFile() string {
	return path.Join("api", o.GroupVersion, strings.ToLower(o.Kind)+"_values.go")
}

// program is the name of the program and of the operator's chart.
func (o *Options) program() string {
	return programOf(o.GoModule)
}

func programOf(goModule string) string {
	if prefix, _, ok := module.SplitPathVersion(goModule); ok {
		return path.Base(prefix)
	}
	return path.Base(goModule)
}

func moduleProblems(goModule string) []string {
	if err := module.CheckImportPath(goModule); err != nil {
		return []string{"must be the path of a Go module, such as example.org/webshop-operator: " + err.Error()}
	}
	problems := validation.IsDNS1035Label(programOf(goModule))
	for i := range problems {
		problems[i] = "its last element becomes the name of the program and the chart: " + problems[i]
	}
	return problems
}

func (o *Options) checkChoices(refuse func(flag, value, allowed string)) {
	for _, row := range []struct {
		flag, value string
		allowed     []string
	}{
		{"generator", string(o.Generator), []string{string(GeneratorGo), string(GeneratorResources), string(GeneratorHelm), string(GeneratorKustomize)}},
		{"license", string(o.License), []string{string(LicenseNone), string(LicenseApache)}},
	} {
		if !slices.Contains(row.allowed, row.value) {
			refuse(row.flag, row.value, "must be one of "+strings.Join(row.allowed, ", "))
		}
	}
	for _, row := range []struct {
		flag, value string
		generator   GeneratorKind
	}{{"chart", o.Chart, GeneratorHelm}, {"kustomization", o.Kustomization, GeneratorKustomize}} {
		switch {
		case row.value == "" && o.Generator == row.generator:
			refuse(row.flag, "", "--generator "+string(row.generator)+" needs it")
		case row.value != "" && o.Generator != row.generator:
			refuse(row.flag, row.value, "needs --generator "+string(row.generator))
		}
	}
	if o.SPDXHeaders && o.License == LicenseNone {
		refuse("spdx-license-headers", "true", "needs --license, which the headers name")
	}
}

func (o *Options) checkServedVersions(refuse func(flag, value, allowed string)) {
	for i, version := range o.ServedVersions {
		switch {
		case !versionPattern.MatchString(version):
			refuse("served-version", version, versionForm)
		case version == o.GroupVersion:
			refuse("served-version", version, "must be another version than that of --group-version, which is served anyway")
		case slices.Contains(o.ServedVersions[:i], version):
			refuse("served-version", version, "must not be given twice")
		}
	}
}

func (o *Options) checkVersions(refuse func(flag, value, allowed string)) {
	for _, row := range o.requirements() {
		_, err := semver.StrictNewVersion(strings.TrimPrefix(*row.version, "v"))
		isVersion := err == nil && strings.HasPrefix(*row.version, "v")
		if row.version == &o.GoVersion {
			isVersion = goPattern.MatchString(*row.version)
		}
		switch {
		case !isVersion:
			refuse(row.flag, *row.version, "must be a version such as "+row.least)
		case row.version != &o.ControllerToolsVersion && olderThan(*row.version, row.least):
			refuse(row.flag, *row.version, "the runtime needs "+row.least+" or newer")
		}
	}
	if o.RuntimePath == "" && o.RuntimeVersion == "" {
		refuse("runtime-version", "", "this scaffolder was built from a checkout and has no version: give the version of the runtime, or a checkout with --runtime-path")
	}
	if o.RuntimeVersion != "" {
		if err := module.Check(runtimeModule, o.RuntimeVersion); err != nil {
			refuse("runtime-version", o.RuntimeVersion, "must be a version of "+runtimeModule+", such as v1.2.3")
		}
	}
}

func olderThan(version, least string) bool {
	given, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	return given.LessThan(semver.MustParse(least))
}

// domainProblems returns a function that returns the problems of a domain name.
func domainProblems(example string) func(name string) []string {
	return func(name string) []string {
		problems := validation.IsDNS1123Subdomain(name)
		if len(problems) == 0 && !strings.Contains(name, ".") {
			problems = append(problems, "must have at least one dot, such as "+example)
		}
		return problems
	}
}

func kindProblems(kind string) []string {
	switch {
	case !kindPattern.MatchString(kind) || !token.IsExported(kind):
		return []string{"must be a Go identifier that begins with a capital letter and consists of letters and digits, such as WebShop"}
	case slices.Contains(takenKinds, kind):
		return []string{"is a name that the API package has already"}
	}
	return validation.IsDNS1035Label(strings.ToLower(kind))
}

var (
	versionQuestion = regexp.MustCompile(`\.APIVersions\.Has\s+"([^"/]+/[^"/]+(?:/[^"/]+)?)"`)
	lookup          = regexp.MustCompile(`\blookup\s+["$.(]`)
)

// questionsOf returns what templates ask the cluster, as far as their text shows it: which versions exist, and whether
// they look up objects.
func questionsOf(files map[string][]byte) (apiVersions []string, looksUp bool) {
	for name, content := range files {
		if !strings.HasPrefix(name, "templates/") && !strings.Contains(name, "/templates/") {
			continue
		}
		for _, found := range versionQuestion.FindAllSubmatch(content, -1) {
			apiVersions = append(apiVersions, string(found[1]))
		}
		looksUp = looksUp || lookup.Match(content)
	}
	slices.Sort(apiVersions)
	return slices.Compact(apiVersions), looksUp
}
