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

// largestStatus bounds what is read of the response to a deletion; a status is far smaller.
const largestStatus = 64 << 10

// Deletion learns from the response to a DELETE whether the object is gone. Clients throw that away, at the price of a
// request that asks. The zero value is ready for use, for one request.
type Deletion struct {
	gone apitypes.UID
}

// Gone tells whether the server has said that it removed the object with this UID. If not, nothing is known: the object may
// have finalizers, the server may not be one that says so, or the client may not be one of this package.
func (d *Deletion) Gone(uid apitypes.UID) bool {
	return uid != "" && d.gone == uid
}

type deletionKey struct{}

// WithDeletion returns a context for one DELETE whose response the deletion is to learn.
func WithDeletion(ctx context.Context, deletion *Deletion) context.Context {
	return context.WithValue(ctx, deletionKey{}, deletion)
}

// deletions is the transport that fills them.
type deletions struct{ next http.RoundTripper }

// RoundTrip sends the request and looks at the response if it is asked to. The API server answers with the object if it is
// still there, for the sake of finalizers, and with a status that names its UID if it was removed by this request.
func (t deletions) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	deletion, _ := request.Context().Value(deletionKey{}).(*Deletion)
	if err != nil || deletion == nil || request.Method != http.MethodDelete || response.StatusCode != http.StatusOK {
		return response, err
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, largestStatus))
	response.Body = body{Reader: io.MultiReader(bytes.NewReader(head), response.Body), Closer: response.Body}
	if err != nil {
		// Whoever reads the body meets the same error.
		return response, nil
	}
	var status metav1.Status
	if json.Unmarshal(head, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusSuccess && status.Details != nil {
		deletion.gone = status.Details.UID
	}
	return response, nil
}

// WrappedRoundTripper returns the transport below, which lets clients find out what they talk through.
func (t deletions) WrappedRoundTripper() http.RoundTripper { return t.next }

type body struct {
	io.Reader
	io.Closer
}
