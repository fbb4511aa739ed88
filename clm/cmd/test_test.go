// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// test is the manifest of a Job that is a test.
func test(name string, annotations ...string) string {
	return job(name, append([]string{"release-hook", "test"}, annotations...)...)
}

// TestTests runs the tests of a release as a person and as a program would.
func TestTests(t *testing.T) {
	t.Parallel()
	s := &transcript{place: newPlace(t)}
	jobs := s.jobsThatAppear()
	app := s.file("app.yaml", configMap("a", "1")+
		test("stays")+test("goes", "purge-order", "0")+test("late", "apply-order", "1")+
		test("bad", "apply-order", "2", sandbox.AnnotationFail, "true")+test("bad-goes", "apply-order", "2", sandbox.AnnotationFail, "true", "purge-on-failure", "true")+
		test("never", "apply-order", "3"))
	s.must("apply", "web", app)
	if names := s.names("batch/v1", "Job"); len(names) > 0 {
		t.Errorf("tests are not applied with the release: %v", names)
	}
	s.results("test", "web", "--filter", "name=stays,name=goes", "--filter", "name=late")
	if diff := cmp.Diff([]string{"late", "stays"}, s.names("batch/v1", "Job")); diff != "" {
		t.Errorf("what is left by a run: %s", diff)
	}
	s.results("test", "web", "-o", "json")
	if diff := cmp.Diff([]string{"bad", "late", "stays"}, s.names("batch/v1", "Job")); diff != "" {
		t.Errorf("what is left by a run that has failed: %s", diff)
	}
	s.results("test", "web", "--filter", "!name=bad", "--filter", "!name=bad-goes", "--filter", "!name=never", "--logs", "-o", "jsonpath={.status.tests[*].state}")
	s.results("test", "web", "--filter", "name=other")
	s.results("test", "web", "--filter", "label=x")
	s.results("test", "web", "--filter", "name=late", "-o", "name")
	s.must("delete", "web")
	s.expectNothing()
	want := []string{"bad", "bad-goes", "goes", "goes", "goes", "late", "late", "late", "late", "stays", "stays", "stays"}
	testenv.Eventually(t, func() (bool, string) {
		got := jobs("")
		slices.Sort(got)
		diff := cmp.Diff(want, got)
		return diff == "", diff
	})
	s.must("apply", "untested", s.file("none.yaml", configMap("b", "1")))
	s.results("test", "untested")
	s.results("test", "untested", "-o", "json")
	text := podPattern.ReplaceAllString(s.text.String(), "$1-POD")
	// There are no kubelets that would have logs.
	text = logPattern.ReplaceAllString(text, "${1}REASON\"")
	s.text.Reset()
	s.text.WriteString(text)
	s.expect("transcripts/tests.txt")
}

var (
	// podPattern matches the names of pods of tests that fail.
	podPattern = regexp.MustCompile(`\b(bad|bad-goes)-[a-z0-9]{5}\b`)
	// logPattern matches why their logs cannot be read.
	logPattern = regexp.MustCompile(`(main cannot be read: ).*"`)
)

// results runs clm and notes its results; of what it has said besides, which depends on who is faster, only an error
// without results.
func (s *transcript) results(args ...string) {
	s.Helper()
	got := s.clm(args...)
	fmt.Fprintf(&s.text, "$ clm %s\n%s", strings.Join(args, " "), got.stdout)
	if got.stdout == "" {
		s.text.WriteString(got.stderr)
	}
	if got.code != 0 {
		fmt.Fprintf(&s.text, "exit code %d\n", got.code)
	}
	s.text.WriteString("\n")
}

// TestATestDoesNotTakeWhatIsThere shows that neither a dependent nor a foreign object becomes a test, which would be
// removed by the next run.
func TestATestDoesNotTakeWhatIsThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "other", p.file("other.yaml", configMap("theirs", "1")))
	p.must("apply", "web", p.file("app.yaml", configMap("ours", "1")+test("check")+
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ours, annotations: {clm.cs.sap.com/release-hook: test}}\n"+
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, annotations: {clm.cs.sap.com/release-hook: test}}\n"), "--adopt", "always")
	for range 2 {
		p.expect(p.clm("test", "web"), exitRefused, "release PLACE/web was not tested: ", "ConfigMap PLACE/ours: ", "ConfigMap PLACE/theirs: ")
	}
	p.must("delete", "web")
	if p.configMap("theirs") == nil {
		t.Error("a ConfigMap of another release is gone")
	}
	p.must("delete", "other")
	p.expectNothing()
}

// TestWhatTestsLeaveHidesNoForeignInstance: instances of a type of the release that its tests have left are deleted
// first, and do not keep the others from being found.
func TestWhatTestsLeaveHidesNoForeignInstance(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	thing := "---\napiVersion: PLACE.example.com/v1\nkind: Thing\nmetadata: {name: %s, annotations: {%s}}\n"
	p.must("apply", "web", p.file("app.yaml", thingDefinition+test("check")+fmt.Sprintf(thing, "ours", "")+fmt.Sprintf(thing, "a-probe", "clm.cs.sap.com/release-hook: test")))
	p.must("test", "web")
	object := func(name string) *unstructured.Unstructured {
		return testenv.Object(p, "{apiVersion: "+p.namespace+".example.com/v1, kind: Thing, metadata: {name: "+name+"}}")
	}
	for _, name := range []string{"foreign-1", "foreign-2"} {
		p.create(object(name))
	}
	ours := p.mark("web")
	refused := "release PLACE/web cannot be deleted: there are instances of types that it defines, which would be deleted with these types, for example: " +
		"Thing.PLACE.example.com PLACE/foreign-1; delete them first; to list them: kubectl get Thing.PLACE.example.com -A -l clm.cs.sap.com/owner-id!="
	got := p.clm("delete", "web", "--dry-run")
	p.expect(got, exitRefused, refused)
	if value := regexp.MustCompile(`owner-id!=(\S+)`).FindStringSubmatch(got.stderr)[1]; !strings.Contains(ours, value) {
		t.Errorf("want the list to leave out what has the label of the release, %s, got %s", ours, value)
	}
	p.expect(p.clm("delete", "web", "-y"), exitRefused, refused)
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "a-probe"}, object("a-probe")); err != nil {
		t.Errorf("want nothing to be done, got %v", err)
	}
	for _, name := range []string{"foreign-1", "foreign-2"} {
		foreign := object(name)
		foreign.SetNamespace(p.namespace)
		if err := p.client.Delete(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
	}
	p.must("delete", "web")
	p.expectNothing()
}
