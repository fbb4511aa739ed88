// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// guardedConfigMaps are a webhook without a backend that concerns the ConfigMaps of the namespace only.
const guardedConfigMaps = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS-checker}
webhooks:
- name: check.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  failurePolicy: Fail
  timeoutSeconds: 1
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: backend}
data: {value: "VALUE"}
---
apiVersion: v1
kind: Service
metadata: {name: backend}
spec: {ports: [{port: 80}]}
`

const webhookKind = "ValidatingWebhookConfiguration"

// TestWebhooksComeAfterTheirBackend has a webhook that denies the server which answers its calls.
func TestWebhooksComeAfterTheirBackend(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"Observed": nil, "Blind": {withoutObserver}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options...)
			first := strings.ReplaceAll(guardedConfigMaps, "VALUE", "1")
			want := []string{"ConfigMap backend", "Service backend", webhookKind + " " + w.namespace + "-checker"}
			if got := kindsInOrder(w.plan(first, compare)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("planned order: %v, want %v", got, want)
			}
			w.requests.Reset()
			w.mustApply(first)
			writes := w.writes()
			if len(writes) == 0 || !strings.Contains(writes[len(writes)-1], "webhookconfigurations") {
				t.Errorf("the webhook configuration was not written last:\n%s", strings.Join(writes, "\n"))
			}

			// What exists is updated first: it may be what keeps everything else from being written.
			second := strings.NewReplacer("VALUE", "2", "failurePolicy: Fail", "failurePolicy: Ignore").Replace(guardedConfigMaps)
			want = append(want[2:], want[:2]...)
			if got := kindsInOrder(w.plan(second, compare)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("planned order of the update: %v, want %v", got, want)
			}
			testenv.Eventually(t, func() (bool, string) { // the API server takes a moment to learn of it
				result, err := w.apply(second)
				return err == nil && result.Done, fmt.Sprint(err, notices(result.Waits))
			})
		})
	}
}

// TestDeletedWebhookComesBackLast has a user delete a webhook that denies the server which answers its calls.
func TestDeletedWebhookComesBackLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(strings.ReplaceAll(guardedConfigMaps, "VALUE", "1"))
	const denied = `failed calling webhook "check.example.com"`
	version := 1
	var changed string
	testenv.Eventually(t, func() (bool, string) { // the API server takes a moment to learn of the webhook
		version++
		changed = strings.ReplaceAll(guardedConfigMaps, "VALUE", strconv.Itoa(version))
		result, err := w.apply(changed)
		return err == nil && strings.Contains(notices(result.Waits), denied), fmt.Sprint(err)
	})
	w.remove(w.get("admissionregistration.k8s.io/v1", webhookKind, w.namespace+"-checker"))
	testenv.Eventually(t, func() (bool, string) {
		// It may take the engine a moment to see that the webhook has gone, and the API server to forget it.
		result, err := w.apply(changed)
		done := err == nil && result.Done && w.get("admissionregistration.k8s.io/v1", webhookKind, w.namespace+"-checker") != nil
		return done && w.configMapHas("backend", strconv.Itoa(version)), fmt.Sprint(err, notices(result.Waits))
	})
}

// TestWebhooksWaitForWhatIsBeforeThem has a ConfigMap that cannot be written for a while. A webhook created before it
// might deny it for good.
func TestWebhooksWaitForWhatIsBeforeThem(t *testing.T) {
	t.Parallel()
	for name, vanished := range map[string]bool{"New": false, "Vanished": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifests := strings.ReplaceAll(guardedConfigMaps, "VALUE", "1")
			webhook := func(name string) *unstructured.Unstructured {
				return w.get("admissionregistration.k8s.io/v1", webhookKind, w.namespace+"-"+name)
			}
			if vanished {
				w.mustApply(manifests)
			}
			w.create(strings.NewReplacer("NS-checker", "NS-foreign", "check.example.com", "foreign.example.com").Replace(strings.Split(manifests, "---")[0]))
			w.awaitDenial("foreign.example.com")
			denied := func() {
				t.Helper()
				testenv.Eventually(t, func() (bool, string) {
					result, err := w.apply(manifests)
					return err == nil && strings.Contains(notices(result.Waits), "ConfigMap backend: failed calling webhook"), fmt.Sprint(err, notices(result.Waits))
				})
			}
			if vanished {
				w.remove(w.configMap("backend"))
				denied() // so the engine has seen that the ConfigMap is gone, before the webhook goes
				w.remove(webhook("checker"))
			}
			for range 3 {
				denied()
			}
			if webhook("checker") != nil {
				t.Error("the webhook is there before what is to answer its calls")
			}
			w.remove(webhook("foreign"))
			w.mustApply(manifests)
			if webhook("checker") == nil || w.configMap("backend") == nil {
				t.Error("expected the webhook, and what is behind it")
			}
		})
	}
}

// awaitDenial waits until the API server denies the ConfigMaps of the namespace because of a webhook.
func (w *world) awaitDenial(webhook string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		object := testenv.Objects(w, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe, namespace: NS}\n"))[0]
		err := w.client.Create(w.Context(), object, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), webhook), fmt.Sprint(err)
	})
}

func (w *world) configMapHas(name, value string) bool {
	w.Helper()
	object := w.configMap(name)
	return object != nil && diffData(map[string]any{"value": value}, object) == ""
}

// kindsInOrder are the objects of a plan, with their kinds and names only.
func kindsInOrder(plan reconciler.Plan) []string {
	var names []string
	for _, change := range plan.Changes {
		names = append(names, change.Object.Kind+" "+change.Object.Name)
	}
	return names
}
