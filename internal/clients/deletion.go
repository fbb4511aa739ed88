// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// largestStatus is the maximum size that is read of the response to a deletion, in bytes; a Status is far smaller.
const largestStatus = 64 << 10

// Deletion finds out from the response to a DELETE whether the object is gone. Clients discard the response, so that it
// would take another request. The zero value is ready for use, for one request.
type Deletion struct {
	gone apitypes.UID
}

// Gone reports whether the server has said that it removed the object with this UID. If not, the object may still be
// gone: not all servers say so, and the client may not be one of this package.
func (d *Deletion) Gone(uid apitypes.UID) bool {
	return uid != "" && d.gone == uid
}

type deletionKey struct{}

// WithDeletion returns a context for one DELETE, from whose response the deletion finds out whether the object is gone.
func WithDeletion(ctx context.Context, deletion *Deletion) context.Context {
	return context.WithValue(ctx, deletionKey{}, deletion)
}

// deletions is the transport that fills Deletions.
type deletions struct{ next http.RoundTripper }

// RoundTrip sends the request, and examines the response if the context has a Deletion. The API server responds with
// the object if finalizers keep it, and with a Status that has its UID if this request has removed it.
func (t deletions) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	deletion, _ := request.Context().Value(deletionKey{}).(*Deletion)
	if err != nil || deletion == nil || request.Method != http.MethodDelete || response.StatusCode != http.StatusOK {
		return response, err
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, largestStatus))
	response.Body = body{Reader: io.MultiReader(bytes.NewReader(head), response.Body), Closer: response.Body}
	if err != nil {
		// The reader of the body gets the same error.
		return response, nil
	}
	var status metav1.Status
	if json.Unmarshal(head, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusSuccess && status.Details != nil {
		deletion.gone = status.Details.UID
	}
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport, for clients that unwrap transports.
func (t deletions) WrappedRoundTripper() http.RoundTripper { return t.next }

type body struct {
	io.Reader
	io.Closer
}
