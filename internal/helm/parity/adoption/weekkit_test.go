// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/stackchart"
	"github.com/component-operator/runtime/internal/testenv"
)

var update = flag.Bool("update", false, "write what clm prints in TestWeek into the transcripts")

// week notes what was entered and what has appeared, one transcript for each day.
type week struct {
	*place

	// folder is the working folder, with charts and files of values.
	folder string
	text   strings.Builder
	// orders has the objects of each release in the order of their waves, as they were last.
	orders map[string][]string
}

// newWeek has a name for a namespace, which does not exist yet.
func newWeek(t *testing.T) *week {
	t.Helper()
	w := &week{place: &place{T: t, namespace: testenv.UniqueName(t), release: "metrics", client: testenv.Client(t)}, folder: t.TempDir(), orders: map[string][]string{}}
	t.Cleanup(w.clear)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		w.must(stackchart.Write(filepath.Join(w.folder, "stack-"+version), stackchart.Options{Group: w.group(), Version: version, Definitions: 10}))
	}
	return w
}

// group is that of the custom resources of the charts.
func (w *week) group() string { return w.namespace + ".example.com" }

// clear removes what a test that has failed leaves behind.
func (w *week) clear() {
	w.forget()
	ctx := context.WithoutCancel(w.Context())
	for _, object := range slices.Concat([]metav1.PartialObjectMetadata{w.object("v1", "Namespace", w.namespace)}, w.outside(ctx)) {
		if err := w.client.Delete(ctx, &object); client.IgnoreNotFound(err) != nil {
			w.Error(err)
		}
		if len(object.Finalizers) > 0 {
			// clm puts one on definitions.
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err := w.client.Patch(ctx, &object, patch); client.IgnoreNotFound(err) != nil {
				w.Error(err)
			}
		}
	}
}

// outside lists what exists outside the namespace because of the charts.
func (w *week) outside(ctx context.Context) []metav1.PartialObjectMetadata {
	var found []metav1.PartialObjectMetadata
	for _, key := range [][2]string{
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
		{"rbac.authorization.k8s.io/v1", "ClusterRole"},
		{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"},
	} {
		for _, object := range w.list(ctx, key[0], key[1]) {
			if strings.Contains(object.Name, w.namespace) {
				found = append(found, object)
			}
		}
	}
	return found
}

// object is the identity of an object of the namespace.
func (w *week) object(apiVersion, kind, name string) metav1.PartialObjectMetadata {
	object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	object.APIVersion, object.Kind = apiVersion, kind
	if kind != "Namespace" {
		object.Namespace = w.namespace
	}
	return object
}

// say notes what is done without clm.
func (w *week) say(format string, args ...any) {
	fmt.Fprintf(&w.text, "# %s\n\n", strings.ReplaceAll(fmt.Sprintf(format, args...), w.namespace, "PLACE"))
}

// values writes a file.
func (w *week) values(name, content string) {
	w.Helper()
	w.must(os.WriteFile(filepath.Join(w.folder, name), []byte(content), 0o600))
	w.say("%s: %s", name, strings.TrimSpace(content))
}

// enter runs clm, whatever comes of it. The first words are a command and the name of a release.
func (w *week) enter(args ...string) {
	w.Helper()
	output, code := w.run(w.folder, args...)
	var order []string
	if len(args) > 1 {
		order = w.order(args[1], output)
	}
	fmt.Fprintf(&w.text, "$ clm %s\n%s", strings.ReplaceAll(strings.Join(args, " "), w.namespace, "PLACE"), stable(output, order))
	if code != 0 {
		fmt.Fprintf(&w.text, "exit code %d\n", code)
	}
	w.text.WriteString("\n")
}

// order returns the objects of a release in the order of their waves, if there is progress in an output: as they are, or as they were before.
func (w *week) order(release, output string) []string {
	w.Helper()
	progress := slices.ContainsFunc(strings.Split(output, "\n"), progressPattern.MatchString)
	if !progress {
		return nil
	}
	var order []string
	tree, code := w.run(w.folder, "tree", release)
	for line := range strings.Lines(tree) {
		if object, _, isRow := strings.Cut(line, "  "); isRow && code == 0 {
			order = append(order, object)
		}
	}
	w.orders[release] = append(order, w.orders[release]...)
	return w.orders[release]
}

// patch changes an object of the namespace as another client.
func (w *week) patch(manager, apiVersion, kind, name, patch string) {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(w.namespace)
	object.SetName(name)
	w.must(w.client.Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)))
}

// delete deletes an object of the namespace as another client.
func (w *week) delete(apiVersion, kind, name string) {
	w.Helper()
	object := w.object(apiVersion, kind, name)
	w.must(w.client.Delete(w.Context(), &object))
}

// compare ends a day: it compares what was noted with a golden file.
func (w *week) compare(day string) {
	w.Helper()
	got := strings.TrimSuffix(w.text.String(), "\n")
	w.text.Reset()
	path := filepath.Join("testdata", "week", day+".txt")
	if *update {
		w.must(os.MkdirAll(filepath.Dir(path), 0o750))
		w.must(os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var (
	agePattern = regexp.MustCompile(`([^:] |\()\d+(ms|s|m)(\d+s)?\b`)
	// podPattern matches the end of the name of a pod or ReplicaSet, after the name of the object that has made it.
	podPattern = regexp.MustCompile(`((?:Pod|ReplicaSet|pods) [a-z0-9-]*?(?:-\d\d|-create|-patch))(-[0-9a-f]{6,10})?(-[a-z0-9]{5})?\b`)
	// reasonPattern matches what Pods say of a Job that has failed. clm looks for it after a second, and may see the failure earlier.
	reasonPattern = regexp.MustCompile(`(Job has reached the specified backoff limit); Pod .*`)
	// ownerPattern matches the label value of an owner, which depends on the name of the namespace.
	ownerPattern = regexp.MustCompile(`(owner-id!=)[0-9a-z]+`)
	// failurePattern matches a failed revision in a history. How much of the reason there is depends on the name of the namespace.
	failurePattern = regexp.MustCompile(`(?m)^(\d+ +Failed .*; failed: ).*`)
	// tablePattern matches the heads of tables.
	tablePattern  = regexp.MustCompile(`^[A-Z]+ +[A-Z]+ `)
	columnPattern = regexp.MustCompile(`(\S)  +`)
	// progressPattern matches what clm says of an object while it works on it.
	progressPattern = regexp.MustCompile(`^([A-Z][\w.-]* [^ :]+): (.*)`)
	phasePattern    = regexp.MustCompile(`^[a-z]+ PLACE/\S+( revision \d+)?: waiting until (wave|waves) `)
)

// stable replaces times, names that the cluster has made up, and the widths of columns. Lines that clm prints while it works are in the order of the waves, and those
// about something that has passed are left out, such as why an object was not ready at first: how many there are, and what else happens meanwhile, depends on how
// fast the cluster is.
func stable(output string, order []string) string {
	var lines, news []string
	table := false
	for line := range strings.Lines(output) {
		table = tablePattern.MatchString(line) || table && line != "\n"
		switch {
		case phasePattern.MatchString(line):
		case progressPattern.MatchString(line) && !strings.HasPrefix(line, "Error: "):
			news = append(news, line)
		default:
			if table {
				line = columnPattern.ReplaceAllString(line, "$1  ")
			}
			lines, news = append(append(lines, lasting(news, order)...), line), nil
		}
	}
	output = strings.Join(append(lines, lasting(news, order)...), "")
	output = ownerPattern.ReplaceAllString(output, "${1}OWNER")
	output = failurePattern.ReplaceAllString(output, "${1}WHY")
	output = reasonPattern.ReplaceAllString(output, "$1")
	output = podPattern.ReplaceAllString(output, "$1-POD")
	return agePattern.ReplaceAllString(output, "${1}AGE")
}

// lasting leaves out what has passed, and sorts the others.
func lasting(news, order []string) []string {
	objectOf := func(line string) string { return progressPattern.FindStringSubmatch(line)[1] }
	var lasting []string
	for i, line := range news {
		text := progressPattern.FindStringSubmatch(line)[2]
		passing := strings.HasPrefix(text, "waiting: ") || strings.HasPrefix(text, "deleting")
		followed := slices.ContainsFunc(news[i+1:], func(later string) bool { return objectOf(later) == objectOf(line) })
		if text != "ready" && !(passing && followed) {
			lasting = append(lasting, line)
		}
	}
	slices.SortStableFunc(lasting, func(a, b string) int {
		return slices.Index(order, objectOf(a)) - slices.Index(order, objectOf(b))
	})
	return lasting
}
