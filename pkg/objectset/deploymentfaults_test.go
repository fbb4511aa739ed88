// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// creatingSets returns a configuration whose creations of ObjectSets are made by a function, and a function that counts them.
func creatingSets(config *rest.Config, create func(next http.RoundTripper, request *http.Request) (*http.Response, error)) (*rest.Config, func() int64) {
	var creations atomic.Int64
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/objectsets") {
				creations.Add(1)
				return create(next, request)
			}
			return next.RoundTrip(request)
		})
	})
	return config, creations.Load
}

// TestChangedSets: a set that a webhook has changed is the one of the template nevertheless.
func TestChangedSets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	config, _ := creatingSets(testenv.Config(t), func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		raw, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		raw = bytes.Replace(raw, []byte(`"phases":[`), []byte(`"successDelaySeconds":1,"phases":[`), 1)
		request = request.Clone(request.Context())
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		return next.RoundTrip(request)
	})
	r.startWith(config)
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-1")
	r.expectSets("web-1 1 Active")
	r.update(web, 2, "yes")
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-2")
	r.expectSets("web-1 1 Archived", "web-2 2 Active")
}

// TestRefusalsWithoutEnd are reported, and not repeated all the time, whatever their texts and codes are.
func TestRefusalsWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code    int
		reason  metav1.StatusReason
		want    string
		stalled string
		most    int64
	}{
		{http.StatusForbidden, metav1.StatusReasonForbidden, "False/WriteRefused", "True/WriteRefused", 2},
		// This may be a stale cache, for a while.
		{http.StatusConflict, metav1.StatusReasonConflict, "True/Retrying", "False/Retrying", 16},
	} {
		t.Run(string(tc.reason), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var number atomic.Int64
			config, creations := creatingSets(testenv.Config(t), func(_ http.RoundTripper, request *http.Request) (*http.Response, error) {
				body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"request %d is denied"}`, tc.reason, tc.code, number.Add(1))
				header := http.Header{"Content-Type": {"application/json"}}
				return &http.Response{StatusCode: tc.code, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
			})
			r.startWith(testenv.LateEvents(config, "objectdeployments", 1200*time.Millisecond))
			web := r.deployment(1, "yes")
			r.create(web)
			r.awaitDeployment(web, v1alpha1.DeploymentProgressing, tc.want, "creating set web-1: request", "is denied")
			r.awaitDeployment(web, v1alpha1.DeploymentStalled, tc.stalled)
			since := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.DeploymentStalled).LastTransitionTime
			time.Sleep(4 * time.Second)
			if got := creations(); got < 2 || got > tc.most {
				t.Errorf("got %d attempts", got)
			}
			r.read(web)
			if now := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.DeploymentStalled).LastTransitionTime; !now.Equal(&since) {
				t.Errorf("the status is the same since %s, the condition says %s", since, now)
			}
		})
	}
}

// TestStatusesOfOthers: what somebody else writes to a status does not stay, although its event comes late.
func TestStatusesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startWith(testenv.LateEvents(testenv.Config(t), "objectdeployments", 300*time.Millisecond))
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
	for _, changed := range []string{`{"status":{"setName":"other"}}`, `{"status":null}`} {
		if err := r.client.Status().Patch(t.Context(), web.DeepCopy(), client.RawPatch(apitypes.MergePatchType, []byte(changed))); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() (bool, string) {
			r.read(web)
			return web.Status.SetName == "web-1" && meta.IsStatusConditionTrue(web.Status.Conditions, v1alpha1.DeploymentReady), fmt.Sprintf("the status is %+v", web.Status)
		})
	}
}

// TestStatusOfANamesake: a deployment does not get the status of an earlier one of the same name.
func TestStatusOfANamesake(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, next := r.deployment(1, "yes"), r.deployment(1, "yes")
	web.Spec.Paused, next.Spec.Paused = true, true
	former := web.DeepCopy()
	config, answers := rest.CopyConfig(testenv.Config(t)), make(chan int, 1)
	var once sync.Once
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/status") || !strings.Contains(request.URL.Path, "/objectdeployments/") {
				return transport.RoundTrip(request)
			}
			first := false
			once.Do(func() {
				first = true
				noFinalizers := client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
				if err := errors.Join(r.client.Patch(t.Context(), former, noFinalizers), r.client.Delete(t.Context(), former), r.client.Create(t.Context(), next)); err != nil {
					t.Error(err)
				}
			})
			response, err := transport.RoundTrip(request)
			if first && err == nil {
				answers <- response.StatusCode
			}
			return response, err
		})
	})
	r.startWith(config)
	r.create(web)
	testenv.Eventually(t, func() (bool, string) { return len(answers) == 1, "no status is written" })
	if got := <-answers; got != http.StatusUnprocessableEntity {
		t.Errorf("the status of the earlier deployment was answered with code %d", got)
	}
	r.awaitDeployment(next, v1alpha1.DeploymentPaused, "True/Paused")
}

// TestOrphansAtOnce: a deployment that is deleted right after it was created leaves its sets and their objects behind, although the garbage collector may not have heard of them.
func TestOrphansAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
	uid := r.get("v1", "ConfigMap", "app").GetUID()
	for range 4 {
		if err := r.client.Delete(t.Context(), web, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
			t.Fatal(err)
		}
		r.awaitGone(web)
		web = r.deployment(1, "yes")
		r.create(web)
		r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
	}
	r.expectSets("web-1 1 Active")
	if object := r.get("v1", "ConfigMap", "app"); object == nil || object.GetUID() != uid {
		t.Errorf("the object was deleted: %v", object)
	}
}

// TestRollbackOfOddValues: what is copied to the template makes exactly the set that it comes from. The first one was written by hand, without a revision.
func TestRollbackOfOddValues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	const spec = `{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null}, data: null, immutable: false}}]}],
  availabilityProbes: [{selector: {kind: {group: none, kind: None}}, probes: [{fieldValue: {field: .spec.a, value: {x: null, y: 9007199254740993, z: 1.0}}}]}]}`
	first := r.set("metadata: {name: by-hand, labels: {core.component-operator.dev/revisions-of: web}}\nspec: " + spec)
	r.create(first)
	r.awaitCondition(first, succeeded, "True/RolloutSuccess")
	web := r.deployment(1, "yes")
	web.Annotations = map[string]string{"other": "yes"}
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-1")
	r.patch(web, `{"spec":{"rollbackTo":{}}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-2")
	r.read(first)
	second := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-2"}}
	r.read(second)
	if !web.Makes(first) || !web.Makes(second) || web.Annotations["other"] != "yes" {
		t.Errorf("the rollback has changed something: %s", mustMarshal(t, web))
	}
}
