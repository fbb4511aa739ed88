// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// FencedError ends a call because Owner.Fence or Owner.Confirm said that it must not go on. What was requested before stands.
type FencedError struct {
	// Reason is what Fence or Confirm returned.
	Reason error
}

// Error returns the reason.
func (e *FencedError) Error() string { return fmt.Sprintf("the call may not go on: %s", e.Reason) }

// Is tells whether the reason is the error. The reason is not unwrapped further: what a server has said about a lease, say, must
// not be taken for what it says about a dependent.
func (e *FencedError) Is(err error) bool { return errors.Is(e.Reason, err) }

// read makes a request that changes nothing.
func (p *pass) read(send func() error) error {
	return p.request("read", send)
}

// mutate makes a request that may change something. By now, everything was observed that the request is guarded by; if the
// owner passes to somebody else only after this check, the guard fails as soon as that one has changed the object. (It does not
// for a create, if that one has found that there is no such object and does not want it.)
func (p *pass) mutate(operation string, send func() error) error {
	if err := p.mayGoOn(); err != nil {
		return err
	}
	if p.owner.Fence != nil {
		if err := p.owner.Fence(); err != nil {
			return &FencedError{Reason: err}
		}
	}
	return p.request(operation, send)
}

// request counts a request and learns from how it fared how many should be under way at once.
func (p *pass) request(operation string, send func() error) error {
	p.options.OnOperation(operation)
	sent := time.Now()
	err := send()
	var status apierrors.APIStatus
	switch {
	case apierrors.IsTooManyRequests(err):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		p.flow.Rejected(sent, time.Duration(seconds)*time.Second)
	case err == nil || errors.As(err, &status):
		p.flow.Answered(sent, time.Since(sent))
	}
	return err
}
