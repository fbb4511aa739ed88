// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/requests"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	const agent = "bench-a"
	sent := func(method string, status int, query url.Values) requests.Request {
		return requests.Request{Method: method, UserAgent: agent, Status: status, Query: query}
	}
	watch := url.Values{"watch": {"true"}}
	for _, tc := range []struct {
		reason  string
		sent    []requests.Request
		audited map[kindOfRequest]int
		want    string
	}{
		{reason: "nothing"},
		{
			reason:  "both agree, also about refused requests",
			sent:    []requests.Request{sent("GET", 200, nil), sent("GET", 404, nil), sent("PATCH", 409, nil), sent("GET", 200, watch)},
			audited: map[kindOfRequest]int{{agent, "GET"}: 2, {agent, "PATCH"}: 1, {agent, methodWatch}: 1},
		},
		{
			reason:  "others are not our business",
			sent:    []requests.Request{sent("GET", 200, nil)},
			audited: map[kindOfRequest]int{{agent, "GET"}: 1, {"bench-b", "GET"}: 7},
		},
		{
			reason:  "the server has got more",
			sent:    []requests.Request{sent("PATCH", 200, nil)},
			audited: map[kindOfRequest]int{{agent, "PATCH"}: 2},
			want:    "counting requests: bench-a has sent 1 PATCH requests (0 more without response), the audit log has 2",
		},
		{
			reason:  "the server has got something else",
			sent:    []requests.Request{sent("PATCH", 200, nil)},
			audited: map[kindOfRequest]int{{agent, "PATCH"}: 1, {agent, "DELETE"}: 1},
			want:    "counting requests: bench-a has sent 0 DELETE requests (0 more without response), the audit log has 1",
		},
		{
			reason: "the server has got less",
			sent:   []requests.Request{sent("PATCH", 200, nil)},
			want:   "counting requests: bench-a has sent 1 PATCH requests (0 more without response), the audit log has 0",
		},
		{
			reason:  "what was not answered may have arrived",
			sent:    []requests.Request{sent("PATCH", 0, nil), sent("PATCH", 0, nil)},
			audited: map[kindOfRequest]int{{agent, "PATCH"}: 1},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := compare(tc.sent, tc.audited); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsContentWrite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason  string
		request requests.Request
		want    bool
	}{
		{"a dependent", requests.Request{Method: "PATCH", Resource: "configmaps", Name: "large-17"}, true},
		{"only read", requests.Request{Method: "GET", Resource: "configmaps", Name: "large-17"}, false},
		{"a part of an inventory", requests.Request{Method: "POST", Resource: "configmaps", Name: "large-0a1b2c3d"}, false},
		{"a part of an inventory whose digest has digits only", requests.Request{Method: "PATCH", Resource: "configmaps", Name: "large-12345678"}, false},
		{"a component", requests.Request{Method: "PATCH", Resource: "bundles", Name: "many-17"}, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if got := isContentWrite(tc.request); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAuditLogCountsEachRequestOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	line := func(stage, id, verb, agent string) string {
		return `{"kind":"Event","stage":"` + stage + `","auditID":"` + id + `","verb":"` + verb + `","userAgent":"` + agent + `"}` + "\n"
	}
	const started, complete = "ResponseStarted", "ResponseComplete"
	write(line(started, "1", "watch", "bench-a") + line(complete, "2", "list", "bench-a") + line(complete, "3", "get", "kubectl") + line(started, "5", "get", "bench-a"))
	log, err := openAuditLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.file.Close()
	if err := log.catchUp(); err != nil {
		t.Fatal(err)
	}
	whole := line(complete, "1", "watch", "bench-a") + line(complete, "4", "patch", "bench-a") + line(complete, "5", "get", "bench-a")
	for _, part := range []string{whole[:20], whole[20:]} {
		write(part)
		if err := log.catchUp(); err != nil {
			t.Fatal(err)
		}
	}
	want := map[kindOfRequest]int{{"bench-a", methodWatch}: 1, {"bench-a", "GET"}: 2, {"bench-a", "PATCH"}: 1}
	if diff := cmp.Diff(want, log.counts); diff != "" {
		t.Errorf("what takes long has two stages, other clients are ignored, and a line may come in parts (-want +got):\n%s", diff)
	}
	write(`{"userAgent":"bench-a"` + "\n")
	if err := log.catchUp(); err == nil || !strings.Contains(err.Error(), "decoding the audit log") {
		t.Errorf("a line that is no event: got error %v", err)
	}
}
