// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// TestHistoryIsReadOneRevisionAtATime checks, whenever a content is read, that none of the ones before is in memory any more.
func TestHistoryIsReadOneRevisionAtATime(t *testing.T) {
	t.Parallel()
	var before []weak.Pointer[unstructured.Unstructured]
	var takeover Takeover
	for number := range int64(5) {
		takeover.History = append(takeover.History, Past{
			Revision: releases.Revision{Number: number + 1},
			Content: func() (releases.Content, error) {
				runtime.GC()
				for i, earlier := range before {
					if earlier.Value() != nil {
						t.Errorf("content %d is still there when revision %d is read", i+1, number+1)
					}
				}
				if number == 2 {
					return releases.Content{}, errors.New("it is damaged")
				}
				object := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint(number)},
				}}
				before = append(before, weak.Make(object))
				return releases.Content{Values: map[string]any{}, Manifest: []*unstructured.Unstructured{object}}, nil
			},
		})
	}
	var skipped []string
	takeover.Skip = func(past Past, reason error) {
		skipped = append(skipped, fmt.Sprintf("%d: %s", past.Revision.Number, reason))
	}
	history, err := describePast(&Plan{Release: &releases.Release{Namespace: "demo", Name: "web"}}, takeover, kruntime.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(skipped) != "[3: it is damaged]" || len(history) != 4 || len(before) != 4 {
		t.Errorf("want revision 3 to be left out, got %v, and %d revisions", skipped, len(history))
	}
	for _, past := range history {
		if past.Revision.Objects != 1 || past.Revision.Inputs == "" {
			t.Errorf("want the revision to be complete, got %+v", past.Revision)
		}
	}
}
