// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transcript notes what was entered and what has appeared, as in a terminal, with what differs from run to run
// replaced.
type transcript struct {
	*place

	text strings.Builder
}

var (
	timePattern  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	agePattern   = regexp.MustCompile(`\b\d+(ms|s|m)(\d+s)?\b`)
	spacePattern = regexp.MustCompile(`([^ \n])  +`)
	userPattern  = regexp.MustCompile(`\b[\w.-]+@[\w.-]+([\s"])`)
	filePattern  = regexp.MustCompile(`/[^ "]*/(\w+\.(yaml|plan))`)
)

// run runs clm, whatever comes of it.
func (s *transcript) run(args ...string) {
	s.Helper()
	s.note(s.clm(args...), args...)
}

// runOut runs clm as timesOut does.
func (s *transcript) runOut(sign string, args ...string) {
	s.Helper()
	s.note(s.timesOut(sign, args...), args...)
}

// note notes how clm has ended that was run with the arguments.
func (s *transcript) note(got result, args ...string) {
	fmt.Fprintf(&s.text, "$ clm %s\n%s%s", strings.Join(args, " "), got.stdout, got.stderr)
	if got.code != 0 {
		fmt.Fprintf(&s.text, "exit code %d\n", got.code)
	}
	s.text.WriteString("\n")
}

// stream runs clm and notes of each object only the last event: how many there are depends on how fast the cluster is.
func (s *transcript) stream(args ...string) {
	s.Helper()
	before := s.text.String()
	s.run(args...)
	said := strings.TrimPrefix(s.text.String(), before)
	s.text.Reset()
	s.text.WriteString(before)
	lines := strings.SplitAfter(said, "\n")
	for i, line := range lines {
		object := objectPattern.FindString(line)
		if object == "" || !slices.ContainsFunc(lines[i+1:], func(later string) bool { return strings.Contains(later, object) }) {
			s.text.WriteString(line)
		}
	}
}

// objectPattern matches what an event is about.
var objectPattern = regexp.MustCompile(`"object":\{[^}]*\}`)

// replace replaces what differs from run to run.
func (s *transcript) replace(pattern *regexp.Regexp, by string) {
	text := pattern.ReplaceAllString(s.text.String(), by)
	s.text.Reset()
	s.text.WriteString(text)
}

// expect compares all that was noted with a golden file.
func (s *transcript) expect(name string) {
	s.Helper()
	text := strings.ReplaceAll(s.text.String(), s.namespace, "PLACE")
	text = timePattern.ReplaceAllString(text, "TIME")
	text = agePattern.ReplaceAllString(text, "AGE")
	text = userPattern.ReplaceAllString(text, "USER$1")
	text = filePattern.ReplaceAllString(text, "$1")
	// How wide columns are depends on what was replaced.
	text = spacePattern.ReplaceAllString(text, "$1  ")
	expectGolden(s.T, name, text)
}

// TestTranscripts runs the commands one after the other as a person would.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	t.Run("people", func(t *testing.T) {
		t.Parallel()
		s := &transcript{place: newPlace(t)}
		first := s.file("first.yaml", configMap("a", "1")+configMap("b", "1"))
		second := s.file("second.yaml", configMap("a", "2")+configMap("c", "1"))
		none := s.file("none.yaml", configMap("d", "1"))
		s.run("apply", "web", first, "--dry-run=client")
		s.run("apply", "web", first)
		s.run("apply", "web", first)
		s.run("ls")
		s.run("plan", "web", second, "--exit-code")
		s.run("diff", "web", second, "--unified", "1")
		s.run("apply", "web", second, "--diff", "--max-deletions", "0")
		s.run("apply", "web", second)
		s.run("history", "web")
		s.run("get", "manifest", "web", "--revision", "1")
		s.run("get", "values", "web")
		s.run("apply", "web", none)
		s.run("rollback", "web", "7")
		s.run("rollback", "web")
		s.run("history", "web")
		s.run("delete", "web", "--dry-run")
		s.run("delete", "web")
		s.run("ls")
		s.run("ls", "--state", "lost")
		// Those of that name in other namespaces would be named.
		s.run("delete", "known-to-nobody")
		s.run("apply", "Web", first)
		s.run("apply", "web", "missing.yaml")
		s.run("apply", "web")
		s.expect("transcripts/people.txt")
	})
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		s := &transcript{place: newPlace(t)}
		first := s.file("first.yaml", configMap("a", "1"))
		s.run("apply", "web", first, "-o", "json")
		s.run("apply", "web", first, "-o", "json")
		s.run("ls", "-o", "json")
		s.run("ls", "-o", "name")
		s.run("ls", "-o", "jsonpath={.items[*].status.state}")
		s.run("ls", "-o", "table")
		s.run("history", "web", "-o", "yaml")
		s.run("get", "manifest", "web", "-o", "json")
		s.run("get", "values", "web", "-o", "json")
		s.run("rollback", "web", "1", "-o", "json")
		s.run("delete", "web", "-o", "json")
		s.expect("transcripts/programs.txt")
	})
}

// TestScenes runs commands one after the other as a person and as a program would, in a place for each scene.
func TestScenes(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(s *transcript){
		"handover": (*transcript).playHandover,
		"waiting":  (*transcript).playWaiting,
		"logs":     (*transcript).playLogs,
		"healing":  (*transcript).playHealing,
		"plans":    (*transcript).playPlans,
		"doctor":   (*transcript).playDoctor,
		"locked":   (*transcript).playLocked,
		"deleting": (*transcript).playDeleting,
		"version":  (*transcript).playVersion,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &transcript{place: newPlace(t)}
			play(s)
			s.stable()
			s.expect("transcripts/" + name + ".txt")
		})
	}
}

func (s *transcript) playHandover() {
	s.must("apply", "shop", s.file("shop.yaml", manifestOf("one", "two", "three")))
	web := s.file("web.yaml", manifestOf("mine", "one"))
	s.run("apply", "web", web)
	s.run("adopt", "web", "cm/two")
	s.run("adopt", "web", "one")
	s.run("orphan", "shop", "cm/one", "--dry-run=client")
	s.run("orphan", "shop", "cm/one")
	s.run("adopt", "web", "cm/one", "--dry-run=client")
	s.run("adopt", "web", "cm/one")
	s.stream("adopt", "web", "cm/one", "-o", "json")
	s.run("move", "cm/two", "cm/three", "--from", "shop", "--to", "web", "--dry-run=client")
	s.run("move", "cm/two", "cm/three", "--from", "shop", "--to", "web")
	s.run("move", "cm/two", "--from", "shop", "--to", "web")
	s.stream("move", "cm/mine", "--from", "web", "--to", "shop", "-o", "json")
	s.run("move", "cm/none", "--from", "web", "--to", "shop")
	s.run("move", "cm/mine", "--from", "web", "--to", "web")
	s.run("move", "cm/mine", "--from", "web")
	s.stream("orphan", "web", "cm/one", "-o", "json")
	s.run("orphan", "web", "cm/one")
	s.run("adopt", "web", "cm/one")
	s.run("history", "web")
	s.run("ls")
	// Another owner takes an object of the release, which blocks the next operations.
	s.as("thief", configMapKind, "three", s.mark("other"))
	s.run("move", "cm/two", "--from", "web", "--to", "shop")
}

func (s *transcript) playWaiting() {
	s.must("apply", "web", s.file("app.yaml", configMap("a", "1")))
	s.run("wait", "web")
	s.run("wait", "web", "-o", "json")
	s.runOut("waiting until the release is deleted", "wait", "web", "--for=deleted", "--timeout", "10m")
	s.must("delete", "web")
	s.run("wait", "web", "--for=deleted")
	s.run("wait", "web", "--for=deleted", "-o", "json")
	s.runOut("waiting until the release exists", "wait", "web", "--timeout", "10m")
	s.must("apply", "web", s.file("app.yaml", configMap("a", "1")+deployment("web", neverReady, "")), "--no-wait")
	s.eventuallyShows([]string{"status", "web"}, "0/1 replicas available")
	s.runOut("web: waiting: 0/1 replicas", "wait", "web", "--timeout", "10m")
	s.runOut(`"reason":"0/1 replicas available"`, "wait", "web", "--timeout", "10m", "-o", "json")
	s.run("wait", "web", "--timeout", "1us")
	s.run("wait", "web", "--timeout", "1us", "-o", "json")
}

func (s *transcript) playLogs() {
	s.must("apply", "web", s.file("app.yaml", deployment("front", "", "")+deployment("back", "", "")+configMap("a", "1")))
	s.withLogs(func(query url.Values) string { return fmt.Sprintf("first\nsecond, tail %q\n", query.Get("tailLines")) })
	s.run("logs", "web")
	s.run("logs", "web", "deployment/back", "--tail", "1")
	s.run("logs", "web", "configmap/a")
	s.run("logs", "web", "deployment/none")
	s.run("logs", "web", "-c", "none")
	s.run("logs", "none")
}

func (s *transcript) playHealing() {
	s.must("apply", "web", s.file("app.yaml", configMap("a", "1")+configMap("b", "1")+
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {clm.cs.sap.com/drift-policy: report}}, data: {value: '1'}}\n"))
	s.run("drift", "web", "--exit-code")
	s.run("drift", "web", "--correct", "-o", "json")
	s.change("a", "2")
	s.change("c", "2")
	s.run("drift", "web", "--exit-code", "-o", "json")
	s.run("drift", "web", "--correct")
	s.run("drift", "web", "--correct", "--exit-code")
	s.change("b", "2")
	s.run("drift", "web", "--correct", "-o", "jsonpath={range .items[*]}{.status.object.name}: {.status.state}{\"\\n\"}{end}")
	s.run("history", "web")
	s.run("drift", "none")
}

func (s *transcript) playPlans() {
	first, second := s.file("first.yaml", configMap("a", "1")+configMap("b", "1")), s.file("second.yaml", configMap("a", "2")+configMap("b", "2"))
	plan := filepath.Join(s.TempDir(), "web.plan")
	s.run("plan", "web", first, "--out", plan, "--exit-code")
	s.run("apply", "web", "--plan", plan)
	s.run("apply", "web", "--plan", plan)
	s.run("plan", "web", second, "--out", plan)
	s.change("b", "by others")
	s.run("apply", "web", "--plan", plan)
	s.stream("apply", "web", "--plan", plan, "-o", "json")
	s.run("plan", "web", second, "--diff", "--out", plan)
	s.run("apply", "web", "--plan", plan, "--dry-run=client")
	s.stream("apply", "web", "--plan", plan, "-o", "json")
	s.run("apply", "other", "--plan", plan)
	s.run("apply", "web", "--plan", first)
	s.run("apply", "web", "--plan", "none.plan")
	s.run("apply", "web", second, "--plan", plan)
	s.run("plan", "web", second, "--exit-code")
}

func (s *transcript) playDoctor() {
	s.must("apply", "web", s.file("app.yaml", manifestOf("fine", "gone")))
	s.run("doctor", "web")
	s.run("doctor", "--fix")
	s.remove(configMapKind, "gone")
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
	s.as("somebody", configMapKind, "extra", s.mark("web"))
	s.run("doctor", "web")
	s.run("doctor", "web", "--fix")
	s.run("doctor", "web", "--fix", "-o", "json")
	s.run("drift", "web", "--correct")
	s.run("doctor", "-o", "name")
	s.run("doctor", "none")
	s.run("doctor", "web", "-A")
}

// thingDefinition is the manifest of a type.
const thingDefinition = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.PLACE.example.com}
spec:
  group: PLACE.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// playLocked is about a release that another process is working on.
func (s *transcript) playLocked() {
	source := s.file("app.yaml", configMap("a", "1"))
	s.must("apply", "web", source)
	s.must("apply", "shop", s.file("shop.yaml", configMap("b", "1")+test("check")))
	holder, seconds, now := "alice@laptop/4711", int32(3600), metav1.NowMicro()
	for _, name := range []string{"clm.web", "clm.shop"} {
		s.create(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
		})
	}
	changed := s.file("app.yaml", configMap("a", "2"))
	s.run("apply", "web", source)
	for _, args := range [][]string{
		{"apply", "web", changed},
		{"apply", "web", changed, "-o", "json"},
		{"rollback", "web", "1"},
		{"delete", "web"},
		{"test", "shop"},
		{"orphan", "web", "cm/a"},
		{"move", "cm/a", "--from", "web", "--to", "shop"},
	} {
		s.run(append(args, "--lock-timeout", "100ms")...)
	}
	s.run("status", "web")
	s.replace(sincePattern, "since TIME")
}

// sincePattern matches the time since which a process has the lock.
var sincePattern = regexp.MustCompile(`since \d\d:\d\d:\d\d`)

// playDeleting is about a release whose deletion has not come to an end.
func (s *transcript) playDeleting() {
	source := s.file("app.yaml", configMap("a", "1")+configMap("b", "1"))
	s.must("apply", "web", source)
	s.must("apply", "shop", s.file("shop.yaml", configMap("c", "1")))
	s.as("somebody", configMapKind, "a", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	s.run("delete", "web", "--timeout", "10s")
	for _, args := range [][]string{
		{"status", "web"},
		{"apply", "web", source},
		{"plan", "web", source},
		{"rollback", "web", "1"},
		{"adopt", "web", "cm/a"},
		{"orphan", "web", "cm/a"},
		{"move", "cm/a", "--from", "web", "--to", "shop"},
		{"move", "cm/c", "--from", "shop", "--to", "web"},
		{"drift", "web"},
		{"test", "web"},
		{"doctor", "web"},
	} {
		s.run(args...)
	}
	s.as("somebody", configMapKind, "a", `{"metadata":{"finalizers":null}}`)
	s.must("delete", "web")
	s.replace(hurriedPattern, "")
}

// hurriedPattern matches what is said only if the answer to the deletion of an object was late.
var hurriedPattern = regexp.MustCompile(`ConfigMap \S+: waiting: waiting for finalizers: .*\n`)

func (s *transcript) playVersion() {
	s.run("version")
	s.run("version", "-o", "json")
	b := buildInfo()
	pairs := []string{
		runtime.Version(), "GO", platform, "PLATFORM", b.version + "\n", "VERSION\n", `"` + b.version + `"`, `"VERSION"`,
		"libraries " + cmp.Or(b.kubernetes, "unknown"), "libraries KUBERNETES", "Helm " + cmp.Or(b.helm, "unknown"), "Helm HELM",
		`"kubernetes": "` + b.kubernetes + `"`, `"kubernetes": "KUBERNETES"`, `"helm": "` + b.helm + `"`, `"helm": "HELM"`,
	}
	if b.commit != "" {
		pairs = append(pairs, "commit "+b.commit+"\n", "", b.commit, "")
	}
	text := strings.NewReplacer(pairs...).Replace(s.text.String())
	s.text.Reset()
	s.text.WriteString(text)
}
