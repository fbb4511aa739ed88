// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// TestExpensiveProbes: a probe that costs more than events may is evaluated when the set reads the object. One that
// costs too much says so, and probes beyond the allowed number are refused.
func TestExpensiveProbes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	probed := func(name string, words int, checks string) *v1alpha1.ObjectSet {
		return r.set(fmt.Sprintf(`
metadata: {name: %s}
spec:
  phases: [{name: only, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {words: "%s"}}}]}]
  availabilityProbes: [{probes: [%s]}]
`, name, name, strings.TrimSuffix(strings.Repeat("word,", words), ","), checks))
	}
	const all = `{cel: {rule: 'self.data.words.split(",").all(word, word != self.?data.bad.orValue(""))', message: there is a bad word}}`
	expensive, excessive := probed("expensive", 5_000, all), probed("excessive", 100_000, all)
	many := probed("many", 1, strings.Repeat(all+",", 64)+"], selector: {}}"+strings.Repeat(", {probes: ["+strings.Repeat(all+",", 64)+"]}", 3)+", {probes: ["+all)
	for _, set := range []*v1alpha1.ObjectSet{expensive, excessive, many} {
		r.create(set)
	}
	r.awaitCondition(excessive, available, "False/ProbeFailure", "costs too much for this object")
	r.awaitCondition(many, available, "False/PreflightError", "spec.availabilityProbes[4].probes: more than 256 checks in all probes together")
	r.awaitCondition(expensive, available, "True/Available")
	r.patch(r.get("v1", "ConfigMap", "expensive"), `{"data":{"bad":"word"}}`)
	r.awaitCondition(expensive, available, "False/ProbeFailure", "there is a bad word")
	r.patch(r.get("v1", "ConfigMap", "expensive"), `{"data":{"bad":"wort"}}`)
	r.awaitCondition(expensive, available, "True/Available")

	// At rest, nothing is requested but what a timer retries.
	r.quiesce()
	for _, request := range r.requests.All() {
		if request.Name == "many" && request.Resource == "configmaps" {
			t.Errorf("an object of a set that is refused is requested: %v", request)
		}
	}
}
