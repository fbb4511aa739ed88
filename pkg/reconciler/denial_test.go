// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

const denial = `admission webhook "denying.example.com" denied the request: frozen until Monday`

// denying runs a webhook that denies one operation on the ConfigMap a of the namespace, with the status code of a conflict.
func (w *world) denying() (operation *atomic.Value) {
	w.Helper()
	operation = &atomic.Value{}
	operation.Store("CREATE")
	server := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var review struct {
			Request struct {
				UID       string `json:"uid"`
				Name      string `json:"name"`
				Operation string `json:"operation"`
			} `json:"request"`
		}
		_ = json.NewDecoder(request.Body).Decode(&review)
		answer := `"allowed":true`
		if review.Request.Name == "a" && review.Request.Operation == operation.Load() {
			answer = `"allowed":false,"status":{"code":409,"reason":"Conflict","message":"frozen until Monday"}`
		}
		_, _ = fmt.Fprintf(writer, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,%s}}`, review.Request.UID, answer)
	}))
	w.Cleanup(server.Close)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	configuration := testenv.Object(w, strings.NewReplacer("URL", server.URL, "BUNDLE", bundle).Replace(w.expand(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS-denying}
webhooks:
- name: denying.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "URL", caBundle: "BUNDLE"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [configmaps]}]
`)))
	if err := w.client.Create(w.Context(), configuration); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.client.Delete(context(w), configuration) })
	testenv.Eventually(w, func() (bool, string) {
		probe := testenv.Object(w, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}"))
		err := w.client.Create(w.Context(), probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), denial), fmt.Sprintf("the webhook is not effective yet: %v", err)
	})
	return operation
}

// TestDenialsWithTheCodeOfAConflict has denials that must not be taken for changes by others.
func TestDenialsWithTheCodeOfAConflict(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {value: VALUE}\n"
	w := newWorld(t)
	operation := w.denying()
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), w.expand(want)+": ") || !strings.HasSuffix(err.Error(), denial) {
			t.Errorf("want %q with the reason of the webhook, got %v", want, err)
		}
	}
	w.requests.Reset()
	_, err := w.engine.Apply(t.Context(), w.request(manifest))
	expect(err, "applying ConfigMap NS/a")
	if writes := w.writes(); len(writes) != 1 {
		t.Errorf("expected one attempt, got %v", writes)
	}
	w.expectPlan(w.plan(manifest, compare), "0 Created ConfigMap NS/a: does not exist! rejected by the API server: "+denial)
	operation.Store("UPDATE")
	w.mustApply(manifest)
	_, err = w.engine.Apply(t.Context(), w.request(strings.ReplaceAll(manifest, "VALUE", "new")))
	expect(err, "applying ConfigMap NS/a")
	operation.Store("DELETE")
	_, err = w.delete()
	expect(err, "deleting ConfigMap NS/a")
	operation.Store("")
	w.mustDelete()
}

// TestConflictsWithoutAChange has conflicts like those of quotas, which each creation updates.
func TestConflictsWithoutAChange(t *testing.T) {
	t.Parallel()
	const reason = `Operation cannot be fulfilled on resourcequotas "q": the object has been modified`
	const want = "ConfigMap a: was rejected with a conflict, although it has not changed: " + reason
	var refuses atomic.Value
	refuses.Store(http.MethodPatch)
	w := newWorld(t, func(s *setup) {
		s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
				if request.Method != refuses.Load() || !strings.HasSuffix(request.URL.Path, "/configmaps/a") {
					return next.RoundTrip(request)
				}
				answer := httptest.NewRecorder()
				answer.Header().Set("Content-Type", "application/json")
				answer.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(answer).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "message": reason})
				return answer.Result(), nil
			})
		})
	})
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	result, err := w.engine.Apply(t.Context(), w.request(manifest))
	if err != nil || notices(result.Waits) != want {
		t.Errorf("creating: %v, %s", err, notices(result.Waits))
	}
	refuses.Store(http.MethodDelete)
	w.mustApply(manifest)
	result, err = w.delete()
	if err != nil || notices(result.Waits) != want {
		t.Errorf("deleting: %v, %s", err, notices(result.Waits))
	}
	refuses.Store("")
	w.mustDelete()
}
