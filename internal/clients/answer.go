// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/internal/texts"
)

const (
	// longestRetryAfter is the maximum Retry-After that a remote server may ask for, in seconds.
	longestRetryAfter = 5
	// largestError is the maximum size that is examined of an error response, in bytes. It may quote an object more
	// than once.
	largestError = 8 << 20
)

// foreignBody replaces the body of a response that is not from an API server. Clients turn it into an error.
const foreignBody = "the answer is not from a Kubernetes API server"

// ownTexts are responses of API servers that are not of kind Status.
var ownTexts = []string{"404 page not found", "Too many requests, please try again later."}

// examine examines an error response. It removes values of objects from the responses of all API servers, because
// errors are shown and recorded. It accepts a response of a remote server only if it is one of an API server: a
// kubeconfig may lead to any server, and its author must not get to see what that server says.
func (b *bounds) examine(server string, request *http.Request, response *http.Response) error {
	code := response.StatusCode
	switch {
	case code < http.StatusMultipleChoices, code == http.StatusNotModified:
		return nil
	case code < http.StatusBadRequest && !b.remote:
		return nil
	case code < http.StatusBadRequest:
		// Redirects are not followed: the allowed hosts were checked for the server in the kubeconfig only.
		return foreignAnswer(server, code)
	}
	if b.remote {
		boundRetryAfter(response.Header)
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, largestError))
	if err != nil {
		return err
	}
	status := statusOf(head)
	switch {
	case status == nil && b.remote && !isOwnText(head):
		replaceBody(response, "text/plain", []byte(foreignBody))
	case status != nil && texts.Status(status, secretIn(request)):
		encoded, err := json.Marshal(status)
		if err != nil {
			return err
		}
		replaceBody(response, "application/json", encoded)
	default:
		response.Body = body{Reader: io.MultiReader(bytes.NewReader(head), response.Body), Closer: response.Body}
	}
	return nil
}

func boundRetryAfter(header http.Header) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); text != "" && (err != nil || seconds > longestRetryAfter) {
		header.Set("Retry-After", strconv.Itoa(longestRetryAfter))
	}
}

func replaceBody(response *http.Response, contentType string, content []byte) {
	response.Header.Set("Content-Type", contentType)
	response.Header.Set("Content-Length", strconv.Itoa(len(content)))
	response.ContentLength = int64(len(content))
	response.Body = body{Reader: bytes.NewReader(content), Closer: response.Body}
}

// secretIn returns the body of a request for a Secret.
func secretIn(request *http.Request) []byte {
	if request.GetBody == nil || !strings.Contains(request.URL.Path+"/", "/secrets/") {
		return nil
	}
	sent, err := request.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = sent.Close() }()
	content, err := io.ReadAll(sent)
	if err != nil {
		return nil
	}
	return content
}

// statusOf decodes a Status of the API, in JSON or protobuf; nil if the content is something else.
func statusOf(content []byte) *metav1.Status {
	status := &metav1.Status{}
	if encoded, ok := bytes.CutPrefix(content, []byte("k8s\x00")); ok {
		var unknown runtime.Unknown
		if unknown.Unmarshal(encoded) != nil || unknown.APIVersion != "v1" || unknown.Kind != "Status" || status.Unmarshal(unknown.Raw) != nil {
			return nil
		}
		status.APIVersion, status.Kind = unknown.APIVersion, unknown.Kind
		return status
	}
	if json.Unmarshal(content, status) != nil || status.APIVersion != "v1" || status.Kind != "Status" {
		return nil
	}
	return status
}

func isOwnText(content []byte) bool {
	for _, text := range ownTexts {
		if strings.TrimSpace(string(content)) == text {
			return true
		}
	}
	return false
}

// isMalformed reports whether an error means that the response is not HTTP. Such errors quote the response.
func isMalformed(err error) bool {
	var protocol textproto.ProtocolError
	return errors.As(err, &protocol) || strings.Contains(err.Error(), "malformed HTTP")
}

// foreignAnswer is the error about a response that is not from a Kubernetes API server, with its status code; zero if
// it was not HTTP. It does not quote the response.
func foreignAnswer(server string, code int) error {
	if code == 0 {
		return fmt.Errorf("the answer of %s is not from a Kubernetes API server", server)
	}
	return fmt.Errorf("the answer of %s (status code %d) is not from a Kubernetes API server", server, code)
}
