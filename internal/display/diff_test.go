// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/display"
)

// object parses YAML that is indented by tabs, as it stands in the source.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// show returns what Write writes, and checks that it leaves the objects alone.
func shown(t *testing.T, options display.DiffOptions, changes ...display.Change) string {
	t.Helper()
	was := fmt.Sprintf("%#v", changes)
	var out bytes.Buffer
	if err := display.WriteDiff(&out, changes, options); err != nil {
		t.Fatal(err)
	}
	if is := fmt.Sprintf("%#v", changes); is != was {
		t.Errorf("the objects were changed:\n%s\n%s", was, is)
	}
	return out.String()
}

func expectDiff(t *testing.T, reason, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", reason, diff)
	}
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  uid: 8c0d
  resourceVersion: "17"
  generation: 3
  creationTimestamp: "2026-01-01T00:00:00Z"
  managedFields: [{manager: x}]
  labels: {app: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: proxy, image: "proxy:1", args: []}
      - {name: web, image: "web:1", env: [{name: A, value: "yes"}, {name: B, value: "1"}]}
status: {replicas: 1}
`

func TestDiffOfAnUpdate(t *testing.T) {
	t.Parallel()
	before := parsed(t, web)
	after := parsed(t, strings.NewReplacer("web:1", "web:2", "replicas: 1", "replicas: 3", `"17"`, `"18"`, "generation: 3", "generation: 4").Replace(web))
	change := display.Change{Object: "Deployment default/web", Action: display.ActionUpdate, Reason: "manifest changed", Local: true, Before: before, After: after}
	expectDiff(t, "what the server keeps for itself is left out, and each piece says where it is", shown(t, display.DiffOptions{Context: new(1)}, change), `
~ Deployment default/web  (update: manifest changed)  [local]
@@ spec @@
 spec:
-  replicas: 1
+  replicas: 3
   selector:
@@ spec.template.spec.containers[web] @@
           value: "1"
-        image: web:1
+        image: web:2
         name: web

1 to update
`)
}

func TestActions(t *testing.T) {
	t.Parallel()
	settings := func(value string) map[string]any {
		return parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {color: "+value+"}}")
	}
	got := shown(t, display.DiffOptions{},
		display.Change{Object: "ConfigMap default/a", Action: display.ActionCreate, After: settings("red")},
		display.Change{Object: "ConfigMap default/b", Action: display.ActionAdopt, Before: settings("red"), After: settings("red")},
		display.Change{Object: "ConfigMap default/c", Action: display.ActionCorrect, Reason: "was changed by kubectl-edit", Before: settings("red"), After: settings("blue")},
		display.Change{Object: "ConfigMap default/d", Action: display.ActionRecreate},
		display.Change{Object: "ConfigMap default/e"},
		display.Change{Object: "ConfigMap default/f"},
		display.Change{Object: "ConfigMap default/g", Action: display.ActionUpdate, Reason: "manifest changed", Refusal: "is owned by\nsomebody else"},
		display.Change{Object: "ConfigMap default/h", Action: display.ActionDelete, Reason: "is no longer in the manifests", Before: settings("red")},
		display.Change{Object: "ConfigMap default/i", Action: display.ActionOrphan},
		display.Change{Object: "Job default/j", Action: display.ActionComplete},
	)
	expectDiff(t, "each action has its mark, and what stays is only counted", got, `
+ ConfigMap default/a  (create)
+apiVersion: v1
+data:
+  color: red
+kind: ConfigMap
+metadata:
+  name: settings
+  namespace: default

~ ConfigMap default/b  (adopt)
  no difference in what is stored

~ ConfigMap default/c  (correct: was changed by kubectl-edit)
@@ data @@
 apiVersion: v1
 data:
-  color: red
+  color: blue
 kind: ConfigMap
 metadata:
   name: settings

± ConfigMap default/d  (recreate)
! ConfigMap default/g  (update: manifest changed)
  refused: is owned by somebody else
- ConfigMap default/h  (delete: is no longer in the manifests)
-apiVersion: v1
-data:
-  color: red
-kind: ConfigMap
-metadata:
-  name: settings
-  namespace: default

= ConfigMap default/i  (orphan)
- Job default/j  (complete)
1 to create, 1 to adopt, 1 to recreate, 1 to correct, 1 to delete, 1 to complete, 1 to orphan, 1 refused, 2 unchanged
`)
	expectDiff(t, "nothing", shown(t, display.DiffOptions{}, display.Change{Object: "ConfigMap default/e"}), "nothing to do, 1 unchanged\n")
	expectDiff(t, "nothing at all", shown(t, display.DiffOptions{}), "nothing to do\n")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	const applied = `metadata: {name: keys, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"aHVudGVyMg=="}}', note: public}}`
	change := display.Change{
		Object: "Secret default/keys", Action: display.ActionUpdate,
		Before: parsed(t, "{apiVersion: v1, kind: Secret, type: Opaque, "+applied+", data: {a: aHVudGVyMg==, b: aHVudGVyMg==, c: eA==, d: ''}}"),
		After:  parsed(t, "{apiVersion: v1, kind: Secret, type: Opaque, "+applied+", data: {a: aHVudGVyMw==, b: aHVudGVyMg==, c: eA==}, stringData: {e: hunter2}}"),
	}
	got := shown(t, display.DiffOptions{Context: new(20)}, change)
	expectDiff(t, "equal values have the same number, however they are written", got, `
~ Secret default/keys  (update)
@@ data @@
 apiVersion: v1
 data:
-  a: *** (7 bytes, #1)
+  a: *** (7 bytes, #5)
   b: *** (7 bytes, #1)
   c: *** (1 byte, #2)
-  d: *** (0 bytes, #3)
 kind: Secret
 metadata:
   annotations:
     kubectl.kubernetes.io/last-applied-configuration: *** (29 bytes, #4)
     note: public
   name: keys
+stringData:
+  e: *** (7 bytes, #1)
 type: Opaque

1 to update
`)
	if shown := shown(t, display.DiffOptions{ShowSecrets: true}, change); !strings.Contains(shown, "+  e: hunter2\n") || !strings.Contains(shown, "-  a: aHVudGVyMg==\n") {
		t.Errorf("values were asked for, but are not shown:\n%s", shown)
	}
	for _, reason := range []string{"data: {a: not base64}", "data: hunter2", "stringData: [hunter2]", "data: {a: 4711, b: {c: hunter2}}"} {
		bad := parsed(t, "{apiVersion: v1, kind: Secret, "+reason+"}")
		got := shown(t, display.DiffOptions{}, display.Change{Object: "Secret default/bad", Action: display.ActionCreate, After: bad})
		if strings.Contains(got, "hunter2") || strings.Contains(got, "4711") || strings.Contains(got, "not base64") || !strings.Contains(got, "***") {
			t.Errorf("what is invalid is as secret (%s):\n%s", reason, got)
		}
	}
	other := parsed(t, "{apiVersion: example.com/v1, kind: Secret, data: {a: public}}")
	if got := shown(t, display.DiffOptions{}, display.Change{Object: "Secret.example.com a", Action: display.ActionCreate, After: other}); !strings.Contains(got, "a: public") {
		t.Errorf("this is a kind of somebody else:\n%s", got)
	}
}

func TestDiffOfTexts(t *testing.T) {
	t.Parallel()
	config := func(line string) map[string]any {
		text := strings.Repeat("\tkeep this line  \n", 500)
		return map[string]any{"data": map[string]any{"script": text + line + "\n" + text}}
	}
	got := shown(t, display.DiffOptions{Context: new(1)}, display.Change{
		Object: "ConfigMap default/a", Action: display.ActionUpdate, Before: config("echo a"), After: config("echo \x1b[2Jb"),
	})
	expectDiff(t, "one line of many, and what is not printable is made visible", got, `
~ ConfigMap default/a  (update)
@@ data.script @@
     	keep this line`+"  "+`
-    echo a
+    echo \x1b[2Jb
     	keep this line`+"  "+`

1 to update
`)
}

// Definitions of resources have thousands of lines, many of them alike; hundreds of changes in them stay what they are.
func TestLargeDiff(t *testing.T) {
	t.Parallel()
	var before, after strings.Builder
	changed := 0
	for i := range 70_000 { // more than there are characters of two bytes
		fmt.Fprintf(&before, "line %d\nsame\n", i)
		if i%100 == 50 {
			changed++
			fmt.Fprintf(&after, "changed %d\nsame\n", i)
			continue
		}
		fmt.Fprintf(&after, "line %d\nsame\n", i)
	}
	got := shown(t, display.DiffOptions{Context: new(1)}, display.Change{
		Object: "ConfigMap default/a", Action: display.ActionUpdate,
		Before: map[string]any{"text": before.String()}, After: map[string]any{"text": after.String()},
	})
	removed, added, context := strings.Count(got, "\n-  line "), strings.Count(got, "\n+  changed "), strings.Count(got, "\n   same")
	if removed != changed || added != changed || context != 2*changed {
		t.Errorf("of %d changed lines %d were removed and %d added, with %d lines around", changed, removed, added, context)
	}
}

// broken fails to write.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestDiffErrors(t *testing.T) {
	t.Parallel()
	create := display.Change{Object: "Pod a/b", Action: display.ActionCreate}
	if err := display.WriteDiff(broken{}, []display.Change{create}, display.DiffOptions{}); err == nil {
		t.Error("what could not be written got no error")
	}
}
