// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// largeSet has objects in ten phases.
func (r *rig) largeSet(objects int) *v1alpha1.ObjectSet {
	set := r.set("metadata: {name: large}\nspec: {phases: []}")
	for i := range 10 {
		phase := v1alpha1.Phase{Name: fmt.Sprintf("phase-%d", i)}
		for j := range objects / 10 {
			raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"object-%d-%d"}}`, i, j)
			phase.Objects = append(phase.Objects, v1alpha1.Object{Object: runtime.RawExtension{Raw: []byte(raw)}})
		}
		set.Spec.Phases = append(set.Spec.Phases, phase)
	}
	return set
}

// TestLargeSet: 5,000 objects cost one write each, besides the records; the status stays small, nothing is requested at
// rest, and the teardown goes from the last phase to the first.
func TestLargeSet(t *testing.T) {
	if testing.Short() {
		t.Skip("5,000 objects take time")
	}
	t.Parallel()
	const count = 5000
	r := newRig(t)
	r.start()
	set := r.largeSet(count)
	r.create(set)
	r.patiently(func() (bool, string) {
		r.read(set)
		return set.Status.AppliedGeneration == 1, describe(set)
	})
	r.awaitCondition(set, available, "True/Available", "5000 of 5000 objects in 10 phases are available")
	// Each status that refers to a record has its own chunks. How many there are depends on how often the operator
	// reports its progress.
	objects, chunks, statuses := 0, 0, 0
	for _, request := range r.requests.All() {
		switch {
		case !request.IsWrite():
		case request.Subresource == "status":
			statuses++
		case request.Status == http.StatusCreated && strings.HasPrefix(request.Name, "object-"):
			objects++
		case request.Status == http.StatusCreated && request.Resource == "configmaps":
			chunks++
		}
	}
	if objects != count {
		t.Errorf("got %d creations of %d objects", objects, count)
	}
	if limit := 16 * statuses; chunks > limit {
		t.Errorf("got %d chunks for %d statuses, more than %d", chunks, statuses, limit)
	}
	raw, err := json.Marshal(set.Status)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 64<<10 {
		t.Errorf("the status has %d bytes", len(raw))
	}
	t.Logf("the status has %d bytes, the set %d", len(raw), len(mustMarshal(t, set)))

	// Nothing is requested at rest.
	r.quiesce()
	before := r.requests.Len()
	time.Sleep(3 * time.Second)
	if after := r.requests.Since(before); len(after) > 0 {
		t.Errorf("requests at rest: %v", after)
	}
	r.delete(set)
	r.patiently(func() (bool, string) {
		err := r.client.Get(t.Context(), client.ObjectKeyFromObject(set), set)
		return apierrors.IsNotFound(err), describe(set)
	})
	deleted, last := 0, "9"
	for _, request := range r.requests.All() {
		name, isObject := strings.CutPrefix(request.Name, "object-")
		if request.Method != http.MethodDelete || !isObject {
			continue
		}
		if phase := name[:1]; phase > last {
			t.Fatalf("%s is deleted after an object of phase %s", request.Name, last)
		} else {
			last = phase
		}
		deleted++
	}
	if deleted != count {
		t.Errorf("got %d deletions of %d objects", deleted, count)
	}
}

// patiently waits for something that takes longer than most.
func (r *rig) patiently(condition func() (bool, string)) {
	r.tb.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		done, lacks := condition()
		switch {
		case done:
			return
		case time.Since(begun) > 5*time.Minute:
			r.tb.Fatal(lacks)
		}
	}
}

func mustMarshal(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// quiesce waits until the operator has made no request for a second, and waits for no response.
func (r *rig) quiesce() {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		before := r.requests.Len()
		time.Sleep(time.Second)
		return r.requests.UnderWay() == 0 && r.requests.Len() == before, "requests are made"
	})
}
