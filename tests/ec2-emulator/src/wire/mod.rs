//! The EC2 Query protocol, API version 2016-11-15: a form in, XML out.

pub mod action;
pub mod answer;
mod describe;
pub mod form;
pub mod page;
pub mod refusal;
pub mod request;
mod xml;

pub use action::Action;
pub use form::Form;
pub use refusal::Refusal;
