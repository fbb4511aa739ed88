// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/requests"
)

func TestDependentWrites(t *testing.T) {
	t.Parallel()
	sent := []requests.Request{
		{Method: "GET", Path: "/api/v1/namespaces/parcels/configmaps/main-settings", Status: 200},
		{Method: "PATCH", Path: "/api/v1/namespaces/parcels/configmaps/main-settings", Status: 409},
		{Method: "PATCH", Path: "/api/v1/namespaces/parcels/configmaps/main-settings", Status: 200},
		{Method: "PATCH", Path: "/apis/example.io/v1alpha1/namespaces/parcels/parcelservices/main/status", Status: 200},
		{Method: "POST", Path: "/apis/events.k8s.io/v1/namespaces/parcels/events", Status: 201},
		{Method: "PATCH", Path: "/apis/parcel.example.io/v1/namespaces/parcels/deliveryroutes/main-express", Status: 201},
	}
	want := []string{"PATCH configmaps/main-settings", "PATCH deliveryroutes/main-express"}
	if diff := cmp.Diff(want, dependentWrites(sent)); diff != "" {
		t.Errorf("reads, conflicts, events and the component itself are no writes of dependents: (-want +got)\n%s", diff)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		lines  int
		first  string
	}{
		"Short": {reason: "what fits is kept", lines: 3, first: "line\n"},
		"Long":  {reason: "a line that was cut is left out", lines: tailSize, first: "line\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &tail{}
			for range tc.lines {
				if _, err := kept.Write([]byte("line\n")); err != nil {
					t.Fatal(err)
				}
			}
			got := kept.String()
			if !strings.HasPrefix(got, tc.first) || len(got) > tailSize || len(got)%len(tc.first) != 0 {
				t.Errorf("%s: kept %d bytes that begin with %.10q", tc.reason, len(got), got)
			}
		})
	}
}
