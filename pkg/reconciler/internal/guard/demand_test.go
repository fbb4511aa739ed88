// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
)

func TestDecideSight(t *testing.T) {
	t.Parallel()
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	exactly := inventory.TypeVersionInfo{Group: "example.com", Version: "*", Kind: "Thing"}
	everything := inventory.TypeVersionInfo{Group: "*", Version: "*", Kind: "*"}
	ours, lost, unknown := &inventory.Item{}, &inventory.Item{}, &inventory.Item{}
	unknowable := errors.New("unknown")
	for _, tc := range []struct {
		reason  string
		demands []Demand
		want    lister
		err     error
	}{
		{reason: "nobody has named the type", demands: []Demand{{TypeVersionInfo: inventory.TypeVersionInfo{Group: "other.com", Version: "*", Kind: "*"}, configured: true}}, want: listedByNobody},
		{reason: "the options name it", demands: []Demand{{TypeVersionInfo: exactly, configured: true}}, want: listedByReader},
		{reason: "the owner names it", demands: []Demand{{TypeVersionInfo: exactly}}, want: listedByClient},
		{reason: "the owner names all types", demands: []Demand{{TypeVersionInfo: everything}}, want: listedByClient},
		{reason: "owner and options name it", demands: []Demand{{TypeVersionInfo: everything}, {TypeVersionInfo: exactly, configured: true}}, want: listedByReader},
		{reason: "a definition of ours brings it", demands: []Demand{{TypeVersionInfo: exactly, definition: ours}}, want: listedByReader},
		{reason: "the owner names what a definition of ours brings", demands: []Demand{{TypeVersionInfo: everything}, {TypeVersionInfo: exactly, definition: ours}}, want: listedByReader},
		{reason: "the definition is gone, or that of others", demands: []Demand{{TypeVersionInfo: exactly, definition: lost}}, want: listedByNobody},
		{reason: "the owner names what a definition of others brings", demands: []Demand{{TypeVersionInfo: everything}, {TypeVersionInfo: exactly, definition: lost}}, want: listedByClient},
		{reason: "one of two definitions is ours", demands: []Demand{{TypeVersionInfo: exactly, definition: lost}, {TypeVersionInfo: exactly, definition: ours}}, want: listedByReader},
		{reason: "another version is ours", demands: []Demand{{TypeVersionInfo: inventory.TypeVersionInfo{Group: "example.com", Version: "v2", Kind: "*"}, definition: ours}}, want: listedByNobody},
		{reason: "it is not known whose the definition is", demands: []Demand{{TypeVersionInfo: exactly, definition: unknown}}, err: unknowable},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := decideLister(tc.demands, thing, func(item *inventory.Item) (bool, error) {
				if item == unknown {
					return false, unknowable
				}
				return item == ours, nil
			})
			if !errors.Is(err, tc.err) {
				t.Fatalf("want error %v, got %v", tc.err, err)
			}
			if err == nil && got != tc.want {
				t.Errorf("want %d, got %d", tc.want, got)
			}
		})
	}
}
