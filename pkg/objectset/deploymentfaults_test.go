// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// creatingSets returns a configuration whose creations of ObjectSets are made by a function, and a function that counts
// them.
func creatingSets(config *rest.Config, create func(next http.RoundTripper, request *http.Request) (*http.Response, error)) (*rest.Config, func() int64) {
	var creations atomic.Int64
	config = testenv.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/objectsets") {
			creations.Add(1)
			return create(next, request)
		}
		return next.RoundTrip(request)
	})
	return config, creations.Load
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
			r.startWith(lateEvents(config, "objectdeployments", 1200*time.Millisecond))
			web := r.deployment(1, "yes")
			r.create(web)
			r.awaitDeployment(web, v1alpha1.DeploymentProgressing, tc.want, "creating set web-1: request", "is denied")
			r.awaitDeployment(web, v1alpha1.DeploymentStalled, tc.stalled)
			since := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.DeploymentStalled).LastTransitionTime
			time.Sleep(4 * time.Second)
			if got := creations(); got > tc.most {
				t.Errorf("got %d attempts", got)
			}
			r.read(web)
			if now := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.DeploymentStalled).LastTransitionTime; !now.Equal(&since) {
				t.Errorf("the status is the same since %s, the condition says %s", since, now)
			}
		})
	}
}

// lateEvents returns a configuration whose watches of a resource, such as "configmaps", deliver their events after a
// delay, as those of a busy API server do. Events that arrive together are delayed once.
func lateEvents(config *rest.Config, resource string, delay time.Duration) *rest.Config {
	return testenv.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/"+resource) {
			response.Body = lateBody{ReadCloser: response.Body, delay: delay}
		}
		return response, err
	})
}

// lateBody returns what it has read after a delay.
type lateBody struct {
	io.ReadCloser
	delay time.Duration
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	time.Sleep(b.delay)
	return n, err
}
