// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/internal/redact"
)

const (
	// longestRetryAfter bounds for how many seconds a remote server may have a client wait before it repeats a request.
	longestRetryAfter = 5
	// largestError bounds how much is read of an answer that tells of an error, in bytes. It may quote an object, and more than once.
	largestError = 8 << 20
)

// foreignAnswer takes the place of what is not from an API server. Clients make an error of it.
const foreignAnswer = "the answer is not from a Kubernetes API server"

// ownTexts are answers of API servers that are no Status.
var ownTexts = []string{"404 page not found", "Too many requests, please try again later."}

// examine looks at an answer that tells of an error. Values are removed from what an API server says, whoever is going to show it. What
// a remote server answers has to be that of an API server: a kubeconfig may lead anywhere, and what is found there must not be
// shown to whoever wrote the kubeconfig.
func (b *bounds) examine(server string, request *http.Request, response *http.Response) error {
	code := response.StatusCode
	switch {
	case code < http.StatusMultipleChoices, code == http.StatusNotModified:
		return nil
	case code < http.StatusBadRequest && !b.remote:
		return nil
	case code < http.StatusBadRequest:
		// Whether the target is allowed is known of the first server only.
		return &ForeignAnswerError{Server: server, Code: code}
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
		replaceBody(response, "text/plain", []byte(foreignAnswer))
	case status != nil && redact.Status(status, secretIn(request)):
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

// secretIn returns the body of a request that is about a Secret.
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

// statusOf decodes a Status of the API, in JSON or protobuf. It returns nil if the content is none.
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

// isMalformed reports whether an error is about an answer that is not HTTP. Such errors quote the answer.
func isMalformed(err error) bool {
	var protocol textproto.ProtocolError
	return errors.As(err, &protocol) || strings.Contains(err.Error(), "malformed HTTP")
}
