// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// failure is an error in its transferable form: its text, and the properties that callers check.
type failure struct {
	Text string `json:"text"`
	// Status is that of an error of the API server.
	Status *metav1.Status `json:"status"`
	// NoMatch reports that a type is not served.
	NoMatch *noMatch `json:"noMatch"`
	// Retriable reports that the error is temporary; retry after RetryAfter if that is not nil.
	Retriable  bool           `json:"retriable"`
	RetryAfter *time.Duration `json:"retryAfter"`
}

type noMatch struct {
	Kind     schema.GroupKind `json:"kind"`
	Versions []string         `json:"versions"`
}

// failureOf returns nil for nil.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	packed := &failure{Text: err.Error()}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		content := status.Status()
		packed.Status = &content
	}
	if cluster.IsNoMatch(err) {
		packed.NoMatch = &noMatch{}
		if missing := (*meta.NoKindMatchError)(nil); errors.As(err, &missing) {
			packed.NoMatch = &noMatch{Kind: missing.GroupKind, Versions: missing.SearchedVersions}
		}
	}
	if retriable := (types.RetriableError{}); errors.As(err, &retriable) {
		packed.Retriable, packed.RetryAfter = true, retriable.RetryAfter()
	}
	return packed
}

// err returns nil for nil.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	received := &receivedError{text: f.Text}
	if f.Status != nil {
		received.causes = append(received.causes, &apierrors.StatusError{ErrStatus: *f.Status})
	}
	if f.NoMatch != nil {
		received.causes = append(received.causes, &meta.NoKindMatchError{GroupKind: f.NoMatch.Kind, SearchedVersions: f.NoMatch.Versions})
	}
	if f.Retriable {
		return types.NewRetriableError(received, f.RetryAfter)
	}
	return received
}

// receivedError has the text of an error on the other side, and the causes that are known here.
type receivedError struct {
	text   string
	causes []error
}

func (e *receivedError) Error() string { return e.text }

func (e *receivedError) Unwrap() []error { return e.causes }
