// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/format"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/rights"
)

// example is the operator for the chart that the pages use.
const example = "../examples/parcel-operator"

// section is a block of a page. Blocks for files come after a line with the name of the file.
type section struct{ language, file, content string }

var sections = regexp.MustCompile("(?ms)(?:^`([^`\n]+)`:\n\n)?^```(\\w*)\n(.*?)^```$")

// stepsPages returns the pages that write an operator by hand, in the order in which a reader follows them.
func stepsPages(t *testing.T) string {
	t.Helper()
	const pages = "../website/content/"
	return contentOf(t, pages+"tutorials/operator-in-go.md") + contentOf(t, pages+"how-to/build-an-image.md") + contentOf(t, pages+"how-to/use-clients-in-generators.md")
}

// readSteps returns the blocks of these pages.
func readSteps(t *testing.T) []section {
	t.Helper()
	var found []section
	for _, match := range sections.FindAllStringSubmatch(stepsPages(t), -1) {
		found = append(found, section{file: match[1], language: match[2], content: match[3]})
	}
	if len(found) < 20 {
		t.Fatalf("the pages have %d blocks; either their form has changed or the test does not understand it", len(found))
	}
	return found
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// fileOf returns the content of a file of the pages.
func fileOf(t *testing.T, name string) string {
	t.Helper()
	for _, block := range readSteps(t) {
		if block.file == name {
			return block.content
		}
	}
	t.Fatalf("the pages have no file %s", name)
	return ""
}

// TestStepsBlocks checks the form of the pages: what is not a command or an output is a file, Go code is formatted, and manifests are valid.
func TestStepsBlocks(t *testing.T) {
	t.Parallel()
	for _, block := range readSteps(t) {
		switch block.language {
		case "sh", "text", "console":
			if block.file != "" {
				t.Errorf("%s: a file in a block of %s", block.file, block.language)
			}
			continue
		case "go":
			if formatted, err := format.Source([]byte(block.content)); err != nil || string(formatted) != block.content {
				t.Errorf("%s is not formatted (error: %v)", block.file, err)
			}
		case "yaml":
			for _, object := range objectsOf(t, block.content) {
				checkStrictly(t, block.file, object)
			}
		case "dockerfile":
		default:
			t.Errorf("a block of %q, which no test looks at", block.language)
		}
		if block.file == "" {
			t.Errorf("no line names the file of this block of %s:\n%s", block.language, block.content)
		}
	}
}

func objectsOf(t *testing.T, content string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(content, -1) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if object.Object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// checkStrictly checks that an object of a type of Kubernetes has no fields that the type does not have.
func checkStrictly(t *testing.T, file string, object *unstructured.Unstructured) {
	t.Helper()
	if !clientgoscheme.Scheme.Recognizes(object.GroupVersionKind()) {
		return
	}
	content, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer().Decode(content, nil, nil); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// TestStepsVersions compares the versions that the pages name with those of the project.
func TestStepsVersions(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`sigs\.k8s\.io/controller-tools (v\S+)`).FindStringSubmatch(contentOf(t, "../internal/tools/go.mod"))
	toolchain := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(contentOf(t, "../go.mod"))
	if pinned == nil || toolchain == nil {
		t.Fatal("the versions of the project are not found")
	}
	for _, want := range []string{
		"cmd/controller-gen@" + pinned[1] + " ", "This project uses " + pinned[1] + ";", "need Go " + toolchain[1] + ",", "FROM golang:" + toolchain[1] + " AS",
	} {
		if !strings.Contains(stepsPages(t), want) {
			t.Errorf("the pages lack %q", want)
		}
	}
}

// TestStepsRights compares the roles of the pages with the rights that the operator needs for its own work and for the objects of the chart.
func TestStepsRights(t *testing.T) {
	t.Parallel()
	needed, err := rights.Of(rights.Request{
		ReconcilerName: "parcel-operator.example.io", Everywhere: true, Objects: objectsOf(t, contentOf(t, example+"/testdata/golden/most.yaml")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]rbacv1.PolicyRule{"ClusterRole": needed[""]}
	for _, purpose := range rights.OfOperator(schema.GroupResource{Group: "parcels.example.com", Resource: "parcelservices"}) {
		switch {
		case purpose.Home:
			want["Role"] = append(want["Role"], purpose.Rules...)
		case purpose.Need == rights.NeedNothing || purpose.Need == rights.NeedReferences:
			want["ClusterRole"] = append(want["ClusterRole"], purpose.Rules...)
		}
	}
	got := map[string][]rbacv1.PolicyRule{}
	for _, object := range objectsOf(t, fileOf(t, "deploy/rbac.yaml")) {
		if !strings.HasSuffix(object.GetKind(), "Role") {
			continue
		}
		role := &rbacv1.ClusterRole{} // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		got[object.GetKind()] = role.Rules
	}
	for kind := range want {
		if diff := cmp.Diff(singles(want[kind]), singles(got[kind])); diff != "" {
			t.Errorf("%s (-needed +page):\n%s", kind, diff)
		}
	}
}

// singles takes rules apart: each line is a verb on a resource.
func singles(rules []rbacv1.PolicyRule) []string {
	var lines []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					lines = append(lines, fmt.Sprintf("%s %s %q %v", verb, resource, group, rule.ResourceNames))
				}
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
