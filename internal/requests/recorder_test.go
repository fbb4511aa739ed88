// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/component-operator/runtime/internal/requests"
)

// TestRequestsUnderWay counts requests while they are answered and afterwards, whether there was an answer or not.
func TestRequestsUnderWay(t *testing.T) {
	t.Parallel()
	recorder := &requests.Recorder{}
	expect := func(when string, underWay, recorded int) {
		t.Helper()
		if recorder.UnderWay() != underWay || recorder.Len() != recorded {
			t.Errorf("%s: want %d requests under way and %d recorded, got %d and %d", when, underWay, recorded, recorder.UnderWay(), recorder.Len())
		}
	}
	for recorded, outcome := range []error{nil, errors.New("no answer")} {
		transport := recorder.Wrap(requests.RoundTripper(func(*http.Request) (*http.Response, error) {
			expect("before the answer", 1, recorded)
			if outcome != nil {
				return nil, outcome
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/version", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if !errors.Is(err, outcome) {
			t.Fatal(err)
		}
		if response != nil {
			_ = response.Body.Close()
		}
		expect("after the answer", 0, recorded+1)
	}
}
