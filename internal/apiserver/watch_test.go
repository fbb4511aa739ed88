// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/internal/apiserver"
)

// TestWatchOfWhatCannotBeWatched ends instead of asking again and again.
func TestWatchOfWhatCannotBeWatched(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for _, answer := range []error{apierrors.NewMethodNotSupported(pods, "watch"), apierrors.NewNotFound(pods, "")} {
		source := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{{}}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, answer },
		}
		var got []apiserver.Change
		err := apiserver.Watch(t.Context(), source, func(change apiserver.Change) error { got = append(got, change); return nil })
		if !errors.Is(err, answer) || len(got) != 1 || !got[0].All || len(got[0].Objects) != 1 {
			t.Errorf("want %v after the list, got %v after %v", answer, err, got)
		}
	}
}
