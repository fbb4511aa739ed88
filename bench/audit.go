// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/requests"
)

// agentPrefix begins the user agent of each client of the benchmark.
const agentPrefix = "bench-"

// auditPatience is how long the audit log may lag behind the responses.
const auditPatience = 20 * time.Second

// kindOfRequest is what both sides know of a request: who sent it, and what it was.
type kindOfRequest struct {
	agent, method string // method is WATCH for watches
}

// An auditLog counts the requests that the API server says it has got.
type auditLog struct {
	file   *os.File
	reader *bufio.Reader
	part   []byte          // the beginning of a line that is not complete yet
	begun  map[string]bool // what has been logged when it began
	counts map[kindOfRequest]int
}

func openAuditLog(path string) (*auditLog, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	return &auditLog{file: file, reader: bufio.NewReaderSize(file, 1<<20), begun: map[string]bool{}, counts: map[kindOfRequest]int{}}, nil
}

// checkAll compares the records of clients, which must not send anything any more, with the log.
func (a *auditLog) checkAll(ctx context.Context, connections []*connection) error {
	var errs []error
	for _, c := range connections {
		errs = append(errs, a.check(ctx, c.requests.All()))
	}
	// What is remembered only to tell the stages of one request apart has served its purpose.
	clear(a.begun)
	return errors.Join(errs...)
}

// check compares the record of a client with the log, and waits for the log if need be.
func (a *auditLog) check(ctx context.Context, list []requests.Request) error {
	deadline := time.Now().Add(auditPatience)
	for {
		if err := a.catchUp(); err != nil {
			return err
		}
		err := compare(list, a.counts)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if progress.Pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

// catchUp reads what was added to the log.
func (a *auditLog) catchUp() error {
	for {
		line, err := a.reader.ReadBytes('\n')
		a.part = append(a.part, line...)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
		if err := a.count(a.part); err != nil {
			return err
		}
		a.part = a.part[:0]
	}
}

func (a *auditLog) count(line []byte) error {
	if !bytes.Contains(line, []byte(`"userAgent":"`+agentPrefix)) {
		return nil
	}
	var event struct {
		AuditID   string `json:"auditID"`
		Stage     string `json:"stage"`
		Verb      string `json:"verb"`
		UserAgent string `json:"userAgent"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("decoding the audit log: %w", err)
	}
	// What takes long, such as a watch, is logged when it begins and when it ends.
	if a.begun[event.AuditID] {
		delete(a.begun, event.AuditID)
		return nil
	}
	if event.Stage == "ResponseStarted" {
		a.begun[event.AuditID] = true
	}
	a.counts[kindOfRequest{agent: event.UserAgent, method: methodOf(event.Verb)}]++
	return nil
}

const methodWatch = "WATCH"

// methodOf returns the HTTP method behind a verb of the API; verbs of requests that are not about resources are methods.
func methodOf(verb string) string {
	switch verb {
	case "get", "list":
		return http.MethodGet
	case "watch":
		return methodWatch
	case "create":
		return http.MethodPost
	case "update":
		return http.MethodPut
	case "delete", "deletecollection":
		return http.MethodDelete
	default:
		return strings.ToUpper(verb)
	}
}

// compare returns an error that names each client and method of which the API server counts another number of requests than the
// client. What the client has got no response for may or may not have reached the server.
func compare(list []requests.Request, audited map[kindOfRequest]int) error {
	answered, unanswered := map[kindOfRequest]int{}, map[kindOfRequest]int{}
	agents := map[string]bool{}
	for _, r := range list {
		kind := kindOfRequest{agent: r.UserAgent, method: r.Method}
		if r.IsWatch() {
			kind.method = methodWatch
		}
		agents[r.UserAgent] = true
		if r.Status == 0 {
			unanswered[kind]++
		} else {
			answered[kind]++
		}
	}
	kinds := maps.Clone(answered)
	maps.Copy(kinds, unanswered)
	for kind := range audited {
		if agents[kind.agent] {
			kinds[kind] = 0
		}
	}
	var problems []string
	for kind := range kinds {
		if n := audited[kind]; n < answered[kind] || n > answered[kind]+unanswered[kind] {
			problems = append(problems, fmt.Sprintf("%s has sent %d %s requests (%d more without response), the audit log has %d",
				kind.agent, answered[kind], kind.method, unanswered[kind], n))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return fmt.Errorf("counting requests: %s", strings.Join(problems, "; "))
}
